package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Down stops the cluster and removes all that it made, pods included, and then
// looks for what is left. A cluster that is not there is down already.
func (c *Cluster) Down(ctx context.Context) error {
	if _, err := os.Stat(c.Dir); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(c.Out, "the cluster is down already")
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("only root can stop the cluster")
	}
	c.steps.Out = c.Out
	for _, step := range []struct {
		title string
		do    func(context.Context) error
	}{
		{"kubelet and control plane", c.stopDaemons},
		{"pods", c.killPods},
		{"mounts", c.unmount},
		{"cgroups", removeCgroups},
		{"network", c.removeNetwork},
		{"files", c.removeFiles},
	} {
		if err := c.steps.Do(step.title, func() (string, error) { return "", step.do(ctx) }); err != nil {
			return fmt.Errorf("remove %s: %w", step.title, err)
		}
	}
	left, err := c.left(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}

// stopDaemons stops first what starts things, and etcd, which the API server
// needs until its end, last.
func (c *Cluster) stopDaemons(context.Context) error {
	recorded, err := recordedDaemons(c.Dir)
	if err != nil {
		return err
	}
	order := []string{"etcd", "kube-apiserver", "containerd"}
	slices.SortStableFunc(recorded, func(a, b *daemon) int {
		return slices.Index(order, a.name) - slices.Index(order, b.name)
	})
	for _, d := range recorded {
		if err := d.stop(); err != nil {
			return err
		}
	}
	return nil
}

// killPods ends the processes of the pods, and then the shims that watched
// them.
func (c *Cluster) killPods(context.Context) error {
	for _, find := range []func() ([]int, error){podProcesses, c.shims} {
		var pids []int
		var err error
		wait(stopTimeout, func() bool {
			pids, err = find()
			for _, pid := range pids {
				// An error means that it is gone already, which is seen next.
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return err != nil || len(pids) == 0
		})
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v do not end", pids)
		}
	}
	return nil
}

// podProcesses returns the processes in the cgroups of pods.
func podProcesses() ([]int, error) {
	var pids []int
	for _, root := range cgroups() {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "cgroup.procs" {
				return ignoreGone(err)
			}
			content, err := os.ReadFile(path)
			for field := range strings.FieldsSeq(string(content)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			return ignoreGone(err)
		})
		if err != nil {
			return nil, err
		}
	}
	return pids, nil
}

// shims returns the processes that containerd started to watch containers:
// they name its socket.
func (c *Cluster) shims() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err == nil && strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") && slices.Contains(args, c.socket()) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func (c *Cluster) unmount(ctx context.Context) error {
	mounts, err := c.mounts()
	if err != nil {
		return err
	}
	// What was mounted last is unmounted first.
	for _, path := range slices.Backward(mounts) {
		if _, err := command(ctx, "umount", path); err != nil {
			return err
		}
	}
	return nil
}

// mounts returns what is mounted below the folder: volumes, root file systems
// of containers, network namespaces.
func (c *Cluster) mounts() ([]string, error) {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer table.Close()
	var found []string
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if path := fields[4]; strings.HasPrefix(path, c.Dir+"/") {
			found = append(found, path)
		}
	}
	return found, lines.Err()
}

// removeCgroups removes the kubelet's cgroups, the innermost first.
func removeCgroups(context.Context) error {
	for _, root := range cgroups() {
		var folders []string
		if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return ignoreGone(err)
		}); err != nil {
			return err
		}
		for _, folder := range slices.Backward(folders) {
			// It is busy until the kernel is done with the last process.
			var err error
			wait(stopTimeout, func() bool { err = ignoreGone(os.Remove(folder)); return err == nil })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) removeNetwork(ctx context.Context) error {
	return errors.Join(removeRules(ctx), removeBridge(ctx), c.restoreSysctls())
}

// removeFiles removes the folder, and the few things that have no setting which
// would put them there.
func (c *Cluster) removeFiles(context.Context) error {
	outside, err := c.filesOutside()
	if err != nil {
		return err
	}
	for _, path := range outside {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.Dir)
}

func (c *Cluster) filesOutside() ([]string, error) {
	return nil, nil
}

// left names everything that is left of the cluster.
func (c *Cluster) left(ctx context.Context) ([]string, error) {
	var left []string
	add := func(what string, found ...string) {
		for _, f := range found {
			left = append(left, what+" "+f)
		}
	}
	if _, err := os.Stat(c.Dir); err == nil {
		add("folder", c.Dir)
	}
	for _, find := range []func() ([]int, error){podProcesses, c.shims} {
		pids, err := find()
		if err != nil {
			return nil, err
		}
		for _, pid := range pids {
			add("process", strconv.Itoa(pid))
		}
	}
	mounts, err := c.mounts()
	if err != nil {
		return nil, err
	}
	add("mount", mounts...)
	add("cgroup", cgroups()...)
	if _, err := net.InterfaceByName(bridge); err == nil {
		add("network device", bridge)
	}
	for _, filter := range filters {
		saved, err := savedRules(ctx, filter)
		if err != nil {
			return nil, err
		}
		add(filter+" rule", ourRules(saved)...)
	}
	return left, nil
}

func ignoreGone(err error) error {
	// A cgroup file whose process has just ended reads as "no such device".
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}
