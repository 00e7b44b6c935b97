package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// operator is the operator as a process, with the ServiceAccount and the flags that it has in a cluster.
type operator struct {
	binary         string
	account        types.NamespacedName
	watchNamespace string // WATCH_NAMESPACE
	args           []string
	log            logbook // of all its runs

	cmd   *exec.Cmd
	ended chan error
}

// start starts the operator and returns once it says that it is ready.
func (o *operator) start(ctx context.Context) error {
	kubeconfig, err := plane.kubeconfig(ctx, o.account)
	if err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	// At this verbosity controller-runtime logs when a reconcile begins and ends, and Helm logs what it can.
	o.cmd = exec.Command(o.binary, append([]string{
		"--zap-log-level=10", "--metrics-bind-address=0", "--health-probe-bind-address=" + probes,
	}, o.args...)...)
	o.cmd.Dir = "/" // as in its image: it needs no file of the repository
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "WATCH_NAMESPACE="+o.watchNamespace)
	o.cmd.Stdout, o.cmd.Stderr = &o.log, &o.log
	logbooks.Store(&o.log, true)
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	o.ended = make(chan error, 1)
	go func() { o.ended <- o.cmd.Wait() }()

	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		select {
		case err := <-o.ended:
			return false, fmt.Errorf("the operator ended: %w", errors.Join(err, errors.New("see its log")))
		default:
		}
		response, err := http.Get("http://" + probes + "/readyz")
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for the operator: %w; the end of its log:\n%s", err, o.log.tail(o.account.Namespace))
	}
	return nil
}

// stop asks the operator to end, and returns once it has.
func (o *operator) stop() error {
	if err := o.end(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the operator: %w; the end of its log:\n%s", err, o.log.tail(o.account.Namespace))
	}
	return nil
}

// kill ends the operator at once, and returns when it is gone.
func (o *operator) kill() error {
	var killed *exec.ExitError
	if err := o.end(syscall.SIGKILL); !errors.As(err, &killed) {
		return fmt.Errorf("kill the operator: %w", err)
	}
	return nil
}

func (o *operator) end(signal syscall.Signal) error {
	if err := o.cmd.Process.Signal(signal); err != nil {
		return err
	}
	return <-o.ended
}

// freeAddress returns an address that is free now. Its port is below those that the kernel gives to listeners that ask for any, such as
// the servers of other tests. So none of them takes it before the operator does.
func freeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", errors.New("no port is free")
}

// logbook collects what the operator prints.
type logbook struct {
	mutex   sync.Mutex
	lines   []logLine
	partial []byte
}

type logLine struct {
	Message     string `json:"msg"`
	ReconcileID string `json:"reconcileID"`
	Object      struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"object"`
	text string
}

// Write takes one piece of output.
func (l *logbook) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.partial = append(l.partial, text...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		entry := logLine{text: string(line)}
		_ = json.Unmarshal(line, &entry) // what is not JSON is text and nothing else
		l.lines, l.partial = append(l.lines, entry), rest
	}
}

// since returns the lines since a mark.
func (l *logbook) since(mark int) []logLine {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clip(l.lines[mark:]) // lines are only added
}

func (l *logbook) mark() int { return len(l.since(0)) }

// about returns the lines that are about a namespace, or about none.
func (l *logbook) about(namespace string) string {
	var texts strings.Builder
	for _, line := range l.since(0) {
		if strings.Contains(line.text, namespace) || !strings.Contains(line.text, namespacePrefix) {
			texts.WriteString(line.text + "\n")
		}
	}
	return texts.String()
}

// tail returns the last of the lines that are about a namespace, or about none.
func (l *logbook) tail(namespace string) string {
	lines := strings.SplitAfter(l.about(namespace), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "")
}

// ends returns the lines with which reconciles ended that began since a mark.
func (l *logbook) ends(mark int) (found []logLine) {
	begun := map[string]bool{}
	for _, line := range l.since(mark) {
		switch {
		case line.Message == "Reconciling":
			begun[line.ReconcileID] = true
		case !begun[line.ReconcileID]:
		case line.Message == reconcilerError, line.Message == "Reconcile successful", strings.HasPrefix(line.Message, "Reconcile done"):
			found = append(found, line)
		}
	}
	return found
}

// reconcilerError is what controller-runtime logs of a reconcile that has failed.
const reconcilerError = "Reconciler error"

// reconciles returns how the reconciles of a Collector ended that began since a mark: "" or the line that says why not.
func (l *logbook) reconciles(mark int, key types.NamespacedName) (ended []string) {
	for _, line := range l.ends(mark) {
		switch {
		case line.Object.Namespace != key.Namespace || line.Object.Name != key.Name:
		case line.Message == reconcilerError:
			ended = append(ended, line.text)
		default:
			ended = append(ended, "")
		}
	}
	return ended
}

// awaitReconcile waits until a reconcile of a Collector, begun since a mark, has ended.
func (o *operator) awaitReconcile(t *testing.T, mark int, key types.NamespacedName) {
	t.Helper()
	NewWithT(t).Eventually(func() []string { return o.log.reconciles(mark, key) }).
		ShouldNot(BeEmpty(), "reconciles of Collector %s", key)
}
