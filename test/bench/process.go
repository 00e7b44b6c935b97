package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is an operator that runs.
type process struct {
	account  string // whose requests are its requests
	cmd      *exec.Cmd
	started  time.Time
	profiler string     // address, or "" if it cannot profile itself
	shards   []*process // the operators that share the fleet with this one, whose cost is counted with its own
	log      string     // path
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
	return p, nil
}

// stop asks the operator, and those that share its fleet, to end, and returns once they have.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	for _, shard := range p.shards {
		if err := shard.stop(); err != nil {
			return err
		}
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
	for _, shard := range p.shards {
		if err := shard.alive(); err != nil {
			return err
		}
	}
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
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", errors.Join(err, p.alive()))
	}
	used, err := parseStat(text)
	for _, shard := range p.shards {
		if err != nil {
			return 0, err
		}
		var more time.Duration
		more, err = shard.cpu()
		used += more
	}
	return used, err
}

// tick is the unit of CPU times in /proc, on every architecture.
const tick = 10 * time.Millisecond

// parseStat returns user and system time of /proc/PID/stat; see proc_pid_stat(5).
func parseStat(text []byte) (time.Duration, error) {
	// The second field, the program's name in parentheses, may have anything in it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: unexpected content %q", text)
	}
	user, errUser := strconv.ParseInt(string(fields[11]), 10, 64)
	system, errSystem := strconv.ParseInt(string(fields[12]), 10, 64)
	if err := errors.Join(errUser, errSystem); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// memory returns the memory that the operator has now, and the most that it has had, in MiB.
func (p *process) memory() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read memory: %w", errors.Join(err, p.alive()))
	}
	now, peak, err = parseStatus(text)
	for _, shard := range p.shards {
		if err != nil {
			return 0, 0, err
		}
		var moreNow, morePeak float64
		moreNow, morePeak, err = shard.memory()
		now, peak = now+moreNow, peak+morePeak
	}
	return now, peak, err
}

// parseStatus returns VmRSS and VmHWM of /proc/PID/status, in MiB; see proc_pid_status(5).
func parseStatus(text []byte) (now, peak float64, err error) {
	kibibytes := map[string]float64{}
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		if number, found := strings.CutSuffix(strings.TrimSpace(value), " kB"); found {
			if kibibytes[name], err = strconv.ParseFloat(number, 64); err != nil {
				return 0, 0, fmt.Errorf("read memory: %w", err)
			}
		}
	}
	now, peak = kibibytes["VmRSS"]/1024, kibibytes["VmHWM"]/1024
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("read memory: no VmRSS or VmHWM in %q", text)
	}
	return now, peak, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// poll calls check every 50 ms until it says that it is done, and fails after limit.
func poll(ctx context.Context, limit time.Duration, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := check(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
