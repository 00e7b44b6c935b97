// Package process runs the parts of a cluster as child processes: each with a
// log file, in a process group of its own so that Ctrl-C reaches only the
// program that knows the order in which to stop them.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to stop before it is killed.
const stopTimeout = 10 * time.Second

// Process is a child that was started.
type Process struct {
	Name string
	Log  string

	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts the command with its output in the file log.
func Start(name, log string, cmd *exec.Cmd) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, Log: log, cmd: cmd, done: make(chan struct{})}
	go func() {
		// How it ended is in its ProcessState.
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Err says that the process ended, with the end of its log; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself (%s); the end of its log:\n%s", p.Name, p.cmd.ProcessState, Tail(p.Log, 10))
	default:
		return nil
	}
}

// Stop ends the process and returns once it is gone.
func (p *Process) Stop() {
	// An error means that it is gone already, which is seen next.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Tail returns the last lines of a log, indented, for an error message.
func Tail(log string, lines int) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	return "  " + strings.Join(all, "\n  ")
}
