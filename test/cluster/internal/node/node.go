// Package node runs a one-node Kubernetes cluster on this machine, as root: a
// control plane, and a real kubelet that runs real pods with containerd. Its
// processes outlive the program that starts them. Everything that it makes is
// in one folder, on one network device or below one cgroup, so that Down can
// remove it without knowing what pods there were.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/kube8/kube8-operator/test/cluster/internal/assets"
	"github.com/kube8/kube8-operator/test/cluster/internal/controlplane"
	"github.com/kube8/kube8-operator/test/cluster/internal/progress"
)

// DefaultDir is where the cluster keeps its files.
const DefaultDir = "/var/lib/kube8-operator-cluster"

// What the cluster is called and where it is found. Everything listens on the
// address of a bridge of its own, so nothing is open to other machines.
const (
	nodeName   = "kube8"
	bridge     = "kube8"
	podRange   = "10.208.0.0/24"
	nodeIP     = "10.208.0.1"
	services   = "10.209.0.0/24"
	apiService = "10.209.0.1"
	apiServer  = "https://" + nodeIP + ":6443"
	pauseImage = "kube8.dev/pause:1"
	// startTimeout is how long one part may take to work: on a machine that
	// compiles at the same time, much longer than usual.
	startTimeout = 2 * time.Minute
)

// Cluster is the cluster of one folder.
type Cluster struct {
	Dir     string
	Builder *assets.Builder
	Out     io.Writer

	steps   progress.Steps
	bin     string // folder of the built binaries
	daemons []*daemon
}

// Kubeconfig is the file that administers the cluster.
func (c *Cluster) Kubeconfig() string { return c.path("kubeconfig") }

// imported is what ctr says of an image that it has imported.
var imported = regexp.MustCompile(`(?m)^unpacking ((\S+):[^\s:/]+) \((sha256:[0-9a-f]+)\)`)

// Load imports image archives, as `docker save` writes them, for the kubelet
// to find: by tag, and by digest as if they had come from a registry.
func (c *Cluster) Load(ctx context.Context, archives ...string) error {
	if len(archives) == 0 {
		return errors.New("name the archives to load")
	}
	if !exists(c.socket()) {
		return fmt.Errorf("there is no cluster in %s: run `make cluster-up`", c.Dir)
	}
	for _, archive := range archives {
		out, err := c.ctr(ctx, "images", "import", archive)
		if err != nil {
			return fmt.Errorf("load %s: %w", archive, err)
		}
		fmt.Fprint(c.Out, out)
		for _, image := range imported.FindAllStringSubmatch(out, -1) {
			byTag, byDigest := image[1], image[2]+"@"+image[3]
			if _, err := c.ctr(ctx, "images", "tag", "--force", byTag, byDigest); err != nil {
				return fmt.Errorf("name %s by its digest: %w", byTag, err)
			}
		}
	}
	return nil
}

// ctr runs containerd's own client where the kubelet's images are.
func (c *Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	return command(ctx, "ctr", append([]string{"--address=" + c.socket(), "--namespace=k8s.io"}, args...)...)
}

func (c *Cluster) kubectl() controlplane.Kubectl {
	return controlplane.Kubectl{
		Path: filepath.Join(c.bin, "kubectl"), Kubeconfig: c.Kubeconfig(), CacheDir: c.path("kubectl-cache"),
	}
}

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// marker is the file that marks the folder as a cluster's. It is the first that
// is written and the last to go.
func (c *Cluster) marker() string { return c.path("sysctls.json") }

// exists says whether there is a cluster in the folder, whole or not. A folder
// with something else in it is an error: Down would remove it.
func (c *Cluster) exists() (bool, error) {
	if exists(c.marker()) {
		return true, nil
	}
	switch entries, err := os.ReadDir(c.Dir); {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case len(entries) > 0:
		return false, fmt.Errorf("%s has files that are not a cluster's: choose another folder (KUBE8_CLUSTER_DIR)", c.Dir)
	default:
		return false, nil
	}
}

func (c *Cluster) socket() string { return c.path("containerd.sock") }

// until calls the check until it succeeds, a daemon ends, or the time is up.
func (c *Cluster) until(parent context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(parent, startTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for _, d := range c.daemons {
			if ended := d.Err(); ended != nil {
				return ended
			}
		}
		select {
		case <-ctx.Done():
			if parent.Err() != nil {
				return errors.New("interrupted")
			}
			return fmt.Errorf("not after %s: %w (logs are in %s)", progress.Duration(startTimeout), err, c.path("logs"))
		case <-tick.C:
		}
	}
}
