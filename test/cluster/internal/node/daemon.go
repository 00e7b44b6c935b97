package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kube8/kube8-operator/test/cluster/internal/process"
)

// daemon is a process that outlives this program, known to later runs by a
// file. Process ids are used again, so the file also has the time when the
// process started.
type daemon struct {
	name    string
	file    string
	log     string
	pid     int
	started string
}

// startDaemon starts a program in a session of its own, with its output in a
// log, and writes down which process it is.
func startDaemon(dir, name, path string, args ...string) (*daemon, error) {
	d := &daemon{
		name: name,
		file: filepath.Join(dir, "pids", name),
		log:  filepath.Join(dir, "logs", name+".log"),
	}
	for _, file := range []string{d.file, d.log} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	d.pid = cmd.Process.Pid
	// Reaps it, should it end while this program runs.
	go func() { _ = cmd.Wait() }()
	if d.started = startTime(d.pid); d.started == "" {
		d.started = "ended" // at once: no process is taken for it
	}
	return d, os.WriteFile(d.file, fmt.Appendf(nil, "%d %s\n", d.pid, d.started), 0o600)
}

// recordedDaemons returns the daemons that were started below the folder.
func recordedDaemons(dir string) ([]*daemon, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "pids"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var all []*daemon
	for _, entry := range entries {
		d := &daemon{
			name: entry.Name(),
			file: filepath.Join(dir, "pids", entry.Name()),
			log:  filepath.Join(dir, "logs", entry.Name()+".log"),
		}
		content, err := os.ReadFile(d.file)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Sscan(string(content), &d.pid, &d.started); err != nil {
			return nil, fmt.Errorf("read %s: %w", d.file, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// runs says whether the process still does.
func (d *daemon) runs() bool { return startTime(d.pid) == d.started }

// Err says that the daemon ended, with the end of its log; nil while it runs.
func (d *daemon) Err() error {
	if d.runs() {
		return nil
	}
	return fmt.Errorf("%s is not running; the end of its log:\n%s", d.name, process.Tail(d.log, 10))
}

// startTime identifies a process that has the id; empty if none runs.
func startTime(pid int) string {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// The second field is the program's name in brackets and may hold anything.
	_, after, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(after)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
