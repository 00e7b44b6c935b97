package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long something that was killed may take to go.
const stopTimeout = 10 * time.Second

// Down stops the cluster and removes all that it made, pods included, and then
// looks for what is left. A cluster that is not there is down already.
func (c *Cluster) Down(ctx context.Context) error {
	if exists, err := c.exists(); err != nil {
		return err
	} else if !exists {
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
		{"root", c.restoreRoot},
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

// stopDaemons kills what the cluster consists of. Nothing of it is kept, so
// nothing has to be put in order first.
func (c *Cluster) stopDaemons(context.Context) error {
	recorded, err := recordedDaemons(c.Dir)
	if err != nil {
		return err
	}
	return kill(func() ([]int, error) {
		var pids []int
		for _, d := range recorded {
			if d.runs() {
				pids = append(pids, d.pid)
			}
		}
		return pids, nil
	})
}

// killPods ends the processes of the pods, and then the shims that watched
// them.
func (c *Cluster) killPods(context.Context) error {
	return errors.Join(kill(podProcesses), kill(c.shims))
}

// kill kills processes until no more are found.
func kill(find func() ([]int, error)) error {
	return retry(func() error {
		pids, err := find()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			// An error means that it is gone already, which is seen next.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return fmt.Errorf("processes %v do not end", pids)
	})
}

func (c *Cluster) unmount(ctx context.Context) error {
	return retry(func() error {
		mounts, err := c.mounts()
		// What was mounted last is unmounted first.
		for _, path := range slices.Backward(mounts) {
			_, failed := command(ctx, "umount", path)
			err = errors.Join(err, failed)
		}
		return err
	})
}

// removeCgroups removes the kubelet's cgroups, the innermost first.
func removeCgroups(context.Context) error {
	folders, err := cgroupFolders()
	if err != nil {
		return err
	}
	for _, folder := range slices.Backward(folders) {
		if err := retry(func() error { return ignoreGone(os.Remove(folder)) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) removeNetwork(ctx context.Context) error {
	return errors.Join(removeRules(ctx), removeBridge(ctx), c.restoreSysctls())
}

// removeFiles removes the files outside the folder, and then the folder, with
// which goes the knowledge of what there was.
func (c *Cluster) removeFiles(context.Context) error {
	outside, err := c.filesOutside()
	if err != nil {
		return err
	}
	for _, path := range outside {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, folder := range foldersOutside {
		// Refused where there is something in it: then it is not ours alone.
		_ = os.Remove(folder)
	}
	inside, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	for _, entry := range inside {
		// What marks the folder goes last, or a second run would not touch it.
		if path := c.path(entry.Name()); path != c.marker() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(c.Dir)
}

// retry calls what may have to wait until the kernel is done with a process
// that was killed.
func retry(do func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(stopTimeout); ; <-tick.C {
		if err := do(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
