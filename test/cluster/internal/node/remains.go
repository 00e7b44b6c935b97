package node

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

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
	outside, err := c.filesOutside()
	if err != nil {
		return nil, err
	}
	add("mount", mounts...)
	add("file", outside...)
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

// cgroups returns the cgroups below which a kubelet puts its pods: one for each
// hierarchy.
func cgroups() []string {
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/*/kubepods"} {
		// The patterns are good, and that is all that Glob could complain of.
		matches, _ := filepath.Glob(pattern)
		found = append(found, matches...)
	}
	return found
}

// cgroupFolders returns those cgroups and all below them, the outer before the
// inner.
func cgroupFolders() ([]string, error) {
	var folders []string
	for _, root := range cgroups() {
		if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return ignoreGone(err)
		}); err != nil {
			return nil, err
		}
	}
	return folders, nil
}

// podProcesses returns the processes in the cgroups of pods.
func podProcesses() ([]int, error) {
	folders, err := cgroupFolders()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, folder := range folders {
		content, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if err := ignoreGone(err); err != nil {
			return nil, err
		}
		for field := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			// A process of another PID namespace has none here.
			if pid > 0 && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
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

// foldersOutside are made by programs that have no setting to put them
// elsewhere, the inner before the outer.
var foldersOutside = []string{
	"/run/containerd/s", "/run/containerd",
	"/var/lib/cni/results", "/var/lib/cni",
	"/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
	"/var/log/containers",
}

// filesOutside returns the files that this cluster left there.
func (c *Cluster) filesOutside() ([]string, error) {
	var found []string
	for _, pattern := range []struct {
		files string
		ours  func(path string) (string, bool)
	}{
		// A shim keeps where it listens next to its container.
		{c.path("containerd-state", "*", "*", "*", "address"), func(path string) (string, bool) {
			address, err := os.ReadFile(path)
			socket := strings.TrimPrefix(string(address), "unix://")
			return socket, err == nil && exists(socket)
		}},
		// What CNI remembers of a pod names its network namespace.
		{"/var/lib/cni/results/*", func(path string) (string, bool) {
			result, err := os.ReadFile(path)
			return path, err == nil && strings.Contains(string(result), c.Dir+"/")
		}},
		{"/var/log/containers/*", c.linkInto},
		{podLogs, c.linkInto},
		// No other kubelet runs here: Up refused to start beside one.
		{"/var/lib/kubelet/device-plugins/kubelet*", func(path string) (string, bool) { return path, true }},
	} {
		matches, err := filepath.Glob(pattern.files)
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			if path, ok := pattern.ours(match); ok && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func ignoreGone(err error) error {
	// A cgroup file whose process has just ended reads as "no such device".
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}

// linkInto says whether a file is a link into the cluster's folder.
func (c *Cluster) linkInto(path string) (string, bool) {
	target, err := os.Readlink(path)
	return path, err == nil && strings.HasPrefix(target, c.Dir+"/")
}
