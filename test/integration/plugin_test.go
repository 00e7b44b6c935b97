package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pluginBinary builds the plugin once, for the tests that need it.
var pluginBinary = sync.OnceValues(func() (string, error) {
	if out, err := exec.Command("make", "plugin").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return filepath.Abs("bin/kubectl-collector")
})

// plugin is the plugin as somebody in a namespace runs it.
type plugin struct {
	t           *testing.T
	env         []string
	dir, binary string
}

// pluginIn returns the plugin as an administrator runs it in a namespace.
func pluginIn(t *testing.T, namespace string) *plugin {
	t.Helper()
	config, err := clientcmd.Load(plane.env.KubeConfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return pluginOf(t, kubeconfig)
}

// pluginOf returns the plugin as the user of a kubeconfig runs it, in a folder of its own.
func pluginOf(t *testing.T, kubeconfig []byte) *plugin {
	t.Helper()
	binary, err := pluginBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{t: t, dir: t.TempDir(), binary: binary}
	p.write("kubeconfig", string(kubeconfig))
	p.env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.dir, "kubeconfig"), "HOME="+p.dir, "TMPDIR="+p.dir, "TERM=xterm", "NO_COLOR=1",
		"PATH="+filepath.Dir(binary)+":"+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
	return p
}

// write writes a file to the folder in which the plugin runs, and returns its name.
func (p *plugin) write(name, content string) string {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func (p *plugin) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

func (p *plugin) command(arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.binary, arguments...)
	cmd.Env, cmd.Dir = p.env, p.dir
	return cmd
}

// run runs the plugin, and returns what it prints to standard output. It fails the test if the plugin fails.
func (p *plugin) run(arguments ...string) string {
	p.t.Helper()
	out, failure := p.try(arguments...)
	if failure != "" {
		p.t.Fatalf("%s: %s\n%s", strings.Join(arguments, " "), failure, out)
	}
	return out
}

// try runs the plugin, and returns what it prints to standard output and, if it fails, to standard error.
func (p *plugin) try(arguments ...string) (out, failure string) {
	p.t.Helper()
	return p.tryWith("", arguments...)
}

// tryWith is try with that standard input.
func (p *plugin) tryWith(input string, arguments ...string) (out, failure string) {
	p.t.Helper()
	cmd := p.command(arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		failure = err.Error() + ": " + stderr.String()
	}
	return stdout.String(), failure
}

// in returns the plugin for a subtest.
func (p *plugin) in(t *testing.T) *plugin {
	t.Helper()
	other := *p
	other.t = t
	return &other
}

// refuses fails the test unless the plugin refuses that, with these words.
func (p *plugin) refuses(words string, arguments ...string) {
	p.t.Helper()
	out, failure := p.try(arguments...)
	NewWithT(p.t).Expect(failure).To(ContainSubstring(words), "kubectl collector %s prints:\n%s", strings.Join(arguments, " "), out)
}

// terminal is the plugin in a terminal of its own.
type terminal struct {
	t       *testing.T
	file    *os.File
	mutex   sync.Mutex
	printed bytes.Buffer
	read    int // how much of it expect has seen
	ended   chan error
}

// open runs the plugin in a terminal, with an editor that is a shell script with the file as $1.
func (p *plugin) open(editor string, arguments ...string) *terminal {
	p.t.Helper()
	return p.start(editor, p.command(arguments...))
}

// shell runs a line of a shell in a terminal, with that editor.
func (p *plugin) shell(editor, line string) *terminal {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "bash", "-c", line)
	cmd.Env, cmd.Dir = p.env, p.dir
	return p.start(editor, cmd)
}

func (p *plugin) start(editor string, cmd *exec.Cmd) *terminal {
	p.t.Helper()
	cmd.Env = append(cmd.Env, "KUBE_EDITOR="+filepath.Join(p.dir, p.write("editor", "#!/bin/sh\nset -e\n"+editor+"\n")))
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		p.t.Fatal(err)
	}
	screen := &terminal{t: p.t, file: file, ended: make(chan error, 1)}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		piece := make([]byte, 4096)
		for {
			n, err := file.Read(piece)
			screen.mutex.Lock()
			screen.printed.Write(piece[:n])
			screen.mutex.Unlock()
			if err != nil {
				return // the terminal is closed once the plugin has ended
			}
		}
	}()
	go func() {
		err := cmd.Wait()
		<-copied
		screen.ended <- err
	}()
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = file.Close()
	})
	return screen
}

func (s *terminal) text() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.ReplaceAll(s.printed.String(), "\r\n", "\n")
}

// expect waits until the terminal shows words that it did not show at the last call.
func (s *terminal) expect(words string) {
	s.t.Helper()
	NewWithT(s.t).Eventually(func() string { return s.text()[s.read:] }).Should(ContainSubstring(words))
	s.read += strings.Index(s.text()[s.read:], words) + len(words)
}

// answer types a line.
func (s *terminal) answer(line string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.file, line); err != nil {
		s.t.Fatal(err)
	}
}

// end waits until the plugin has ended, and returns its error. A script of many commands may take its time, if it goes on printing.
func (s *terminal) end() error {
	s.t.Helper()
	for shown := ""; ; shown = s.text() {
		select {
		case err := <-s.ended:
			return err
		case <-time.After(30 * time.Second):
			if s.text() == shown {
				s.t.Fatalf("the plugin did not end; the terminal shows:\n%s", shown)
			}
		}
	}
}

// specOf reads the spec of a Collector.
func specOf(t *testing.T, collector *v1alpha1.Collector) v1alpha1.CollectorSpec {
	t.Helper()
	return get(t, collector, "", &v1alpha1.Collector{}).Spec
}

// interrupt types Ctrl-C.
func (s *terminal) interrupt() {
	s.t.Helper()
	if _, err := s.file.WriteString("\x03"); err != nil {
		s.t.Fatal(err)
	}
}
