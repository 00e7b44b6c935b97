package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// process is an operator that runs.
type process struct {
	account  string // whose requests are its requests
	cmd      *exec.Cmd
	proc     procfs.Proc
	started  time.Time
	profiler string // address, or "" if it cannot profile itself
	metrics  string // address, or "" if it serves them to those only who may read them
	log      string // path
	ended    chan struct{}
	err      error // once it has ended
}

// start starts a program in folder dir, with what it prints in a log file.
func start(dir, account, log string, env []string, binary string, args ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()                    // the process has its own
	cmd := exec.Command(binary, args...) //nolint:gosec // the bench runs what its user names
	p := &process{account: account, cmd: cmd, log: log, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// What is typed at the terminal is for the bench, which ends it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(binary), err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if p.proc, err = procfs.NewProc(p.cmd.Process.Pid); err != nil {
		return p, fmt.Errorf("find %s: %w", filepath.Base(binary), err)
	}
	return p, nil
}

// stop asks the operator to end, and returns once it has.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		return errors.Join(errors.New("the operator does not end"), p.cmd.Process.Kill())
	}
	return nil
}

// kill ends the operator at once, and returns when it has ended.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// alive returns an error with the end of the log if the operator has ended.
func (p *process) alive() error {
	select {
	case <-p.ended:
		text, _ := os.ReadFile(p.log) // what there is
		lines := strings.SplitAfter(string(text), "\n")
		return fmt.Errorf("the operator ended: %w; the end of its log:\n%s", p.err, strings.Join(lines[max(0, len(lines)-20):], ""))
	default:
		return nil
	}
}

// cpu is the time, user and system, that the operator has used since it started.
func (p *process) cpu() (used time.Duration, err error) {
	stat, err := p.proc.Stat()
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", errors.Join(err, p.alive()))
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}

// memory returns the memory that the operator has now, and the most that it has had, in MiB.
func (p *process) memory() (now, peak float64, err error) {
	const mebibyte = 1 << 20
	status, err := p.proc.NewStatus()
	if err != nil {
		return 0, 0, fmt.Errorf("read memory: %w", errors.Join(err, p.alive()))
	}
	return float64(status.VmRSS) / mebibyte, float64(status.VmHWM) / mebibyte, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// poll calls check every 50 ms until it says that it is done, and fails when patience ends.
func poll(ctx context.Context, check func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) { return check() })
}
