package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// packages says which Debian package has each program that is not built.
var packages = []struct{ program, name string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"iptables", "iptables"},
	{"ip", "iproute2"},
	{"mount", "mount"},
	{"findmnt", "util-linux"},
}

// Up brings the cluster up and returns once its node is ready. If it is up
// already, that is said, and nothing is done.
func (c *Cluster) Up(ctx context.Context) error {
	if err := errors.Join(checkMachine(), checkDir(c.Dir)); err != nil {
		return err
	}
	up, err := c.isUp()
	if err != nil {
		return err
	}
	if up {
		fmt.Fprintf(c.Out, "the cluster is up already\nexport KUBECONFIG=%s\n", c.Kubeconfig())
		return nil
	}
	if err := checkAddresses(); err != nil {
		return err
	}
	if err := checkOtherNode(ctx); err != nil {
		return err
	}
	if c.bin, err = c.Builder.Ensure(ctx, "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
		"kubelet", "kube-proxy", "kubectl", "coredns", "pause"); err != nil {
		return err
	}
	if err := c.bringUp(ctx); err != nil {
		return fmt.Errorf("%w\n`make cluster-down` removes what was started", err)
	}
	fmt.Fprintf(c.Out, "\nexport KUBECONFIG=%s\n", c.Kubeconfig())
	return nil
}

func (c *Cluster) bringUp(ctx context.Context) error {
	c.steps.Out = c.Out
	if err := c.steps.Do("files", func() (string, error) { return c.Dir, c.prepare() }); err != nil {
		return err
	}
	if err := c.steps.Do("root", func() (string, error) { return "its mounts are shared with pods", c.shareRoot(ctx) }); err != nil {
		return err
	}
	if err := c.steps.Do("bridge "+bridge, func() (string, error) {
		return fmt.Sprintf("pods in %s, services in %s", podRange, services), createBridge(ctx)
	}); err != nil {
		return err
	}
	for _, p := range c.programs() {
		if err := c.steps.Do(p.name, func() (string, error) { return p.does, c.start(ctx, p) }); err != nil {
			return err
		}
	}
	return c.steps.Do("storage", func() (string, error) {
		return fmt.Sprintf("default StorageClass, %d volumes", volumes), c.createStorage(ctx)
	})
}

// prepare writes everything that the programs read.
func (c *Cluster) prepare() error {
	cni, err := cniPlugins()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if err := c.saveSysctls(); err != nil {
		return err
	}
	if err := c.linkPodLogs(); err != nil {
		return err
	}
	if err := c.writeConfigs(cni); err != nil {
		return err
	}
	ca, err := newAuthority(c.path("pki"))
	if err != nil {
		return err
	}
	for _, id := range []identity{
		{file: "service-accounts", user: "service-accounts"},
		{file: "front-proxy", user: "front-proxy"},
		{file: "kube-apiserver", user: "kube-apiserver", group: "system:masters", hosts: []string{
			nodeIP, apiService, "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		}},
	} {
		if _, _, err := ca.issue(id); err != nil {
			return err
		}
	}
	for _, p := range c.programs() {
		if p.user.user == "" {
			continue
		}
		p.user.file = p.name
		if err := ca.issueKubeconfig(c.path("pki", p.name+".kubeconfig"), p.user); err != nil {
			return err
		}
	}
	return ca.issueKubeconfig(c.Kubeconfig(), identity{file: "admin", user: "admin", group: "system:masters"})
}

// podLogs is where agents that read logs look for those of pods.
const podLogs = "/var/log/pods"

// linkPodLogs has the pods' logs, which are in the cluster's folder, be where
// every other kubelet has them.
func (c *Cluster) linkPodLogs() error {
	if _, ours := c.linkInto(podLogs); ours {
		return nil
	}
	if err := os.Symlink(c.path("pod-logs"), podLogs); err != nil {
		return fmt.Errorf("%w: another kubelet's logs are there; move them away", err)
	}
	return nil
}

// isUp says whether the whole cluster runs. Less than the whole is an error.
func (c *Cluster) isUp() (bool, error) {
	if exists, err := c.exists(); err != nil || !exists {
		return false, err
	}
	recorded, err := recordedDaemons(c.Dir)
	if err != nil {
		return false, err
	}
	for _, p := range c.programs() {
		if !slices.ContainsFunc(recorded, func(d *daemon) bool { return d.name == p.name && d.runs() }) {
			return false, fmt.Errorf("of the cluster in %s, %s is not running: run `make cluster-down` first", c.Dir, p.name)
		}
	}
	return true, nil
}

// checkDir refuses a folder whose name does not fit into the path of a socket,
// or has a meaning in a configuration file.
func checkDir(dir string) error {
	const longest = 64
	if len(dir) > longest || strings.ContainsAny(dir, " \t\n\"'\\{}$%*?[],#:") {
		return fmt.Errorf("the cluster's folder %q must have no more than %d characters and only plain ones", dir, longest)
	}
	return nil
}

// checkMachine says at once what is missing.
func checkMachine() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("a real node needs Linux and root; `make demo` needs neither")
	}
	var missing []string
	for _, p := range packages {
		if _, err := exec.LookPath(p.program); err != nil {
			missing = append(missing, p.name)
		}
	}
	if _, err := cniPlugins(); err != nil {
		missing = append(missing, "containernetworking-plugins")
	}
	if len(missing) > 0 {
		return fmt.Errorf("programs are missing: apt-get install --no-install-recommends %s",
			strings.Join(slices.Compact(missing), " "))
	}
	return nil
}

// checkOtherNode refuses to share the machine with another kubelet: what Down
// removes could not be told from what the other one made.
func checkOtherNode(ctx context.Context) error {
	if groups := cgroups(); len(groups) > 0 {
		return fmt.Errorf("another Kubernetes node seems to run here: it has the cgroup %s", groups[0])
	}
	for _, filter := range filters {
		saved, err := savedRules(ctx, filter)
		if err != nil {
			return err
		}
		if ours := ourRules(saved); len(ours) > 0 {
			return fmt.Errorf("another Kubernetes node seems to run here: %s has %s", filter, ours[0])
		}
	}
	return nil
}
