package memory

import (
	"context"
	"errors"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/retry"
)

// behind is how long to wait for a cache that is behind what the pass has done.
const behind = time.Second

// ActionClients decorates the clients that next gives. again asks for another pass over a Collector.
func (m *Memory) ActionClients(next drift.Getter, again func(client.ObjectKey, time.Duration)) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		c := &actionClient{memory: m, entry: m.entry(obj.GetUID()), collector: obj, again: again}
		c.entry.err = nil
		c.capabilities = m.Capabilities(ctx)
		if collector, ok := obj.(*unstructured.Unstructured); ok {
			c.configuration = m.Configuration(collector)
		}
		c.answers = m.answers(ctx, c.entry, obj, c.configuration, c.capabilities)
		switch {
		case c.answers && c.entry.objects != nil:
			return unchanged{release: c.entry.release}, nil
		case !c.answers:
			c.entry.release, c.entry.objects = nil, nil
		}
		actions, err := next.For(ctx, obj)
		if err != nil {
			return nil, c.failed(err)
		}
		c.ActionClient = actions
		return c, nil
	})
}

// unchanged serves a pass over a Collector whose release and objects are as they should be. The reconciler asks for no
// more than it answers, and making Helm's clients costs more than the rest of such a pass.
type unchanged struct {
	helmclient.ActionInterface // none
	release                    *release.Release
}

// Answers tells whether actions, which a Memory gave, answer their pass from memory, without Helm.
func Answers(actions helmclient.ActionInterface) bool {
	_, answers := actions.(unchanged)
	return answers
}

// Get returns the release.
func (u unchanged) Get(string, ...helmclient.GetOption) (*release.Release, error) {
	return u.release, nil
}

// Upgrade tells that an upgrade, of which the reconciler makes a dry run, would change nothing.
func (u unchanged) Upgrade(string, string, *chart.Chart, map[string]any, ...helmclient.UpgradeOption) (*release.Release, error) {
	return u.release, nil
}

// Reconcile has nothing to repair.
func (u unchanged) Reconcile(*release.Release) error { return nil }

// actionClient serves one pass over one Collector.
type actionClient struct {
	*drift.ActionClient
	memory        *Memory
	entry         *entry
	collector     client.Object
	configuration string
	capabilities  int
	again         func(client.ObjectKey, time.Duration)

	answers bool // the release is known, but its objects are yet to be seen
	read    bool // the next two are what Get found
	found   *release.Release
	missing error
}

// Get returns the latest revision of a release. It asks the API server once in a pass, or not at all.
func (c *actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	if c.answers {
		return c.entry.release, nil
	}
	if !c.read {
		found, err := c.ActionClient.Get(name, opts...)
		if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return nil, c.failed(err)
		}
		c.found, c.missing, c.read = found, err, true
		if err == nil && found.Info.Status == release.StatusDeployed {
			c.entry.deployed = deployedBy(found)
		}
	}
	return c.found, c.missing
}

// Install installs a release and remembers it.
func (c *actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	c.read = false
	rel, err := c.ActionClient.Install(name, namespace, chrt, vals, opts...)
	if err != nil {
		return rel, c.failed(err)
	}
	c.remember(rel, c.digest(rel, chrt, vals))
	return toWatch(rel), nil
}

// Upgrade upgrades a release and remembers it, or tells by a dry run what an upgrade would make of it: the same, if the
// pass can be answered from memory, or from what the Collector's status says.
func (c *actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	dry := retry.IsDryRun(opts)
	switch {
	case dry && c.answers:
		return c.entry.release, nil
	case dry && c.isDeployed(chrt, vals):
		c.entry.deployed.Digest = digestIn(c.collector)
		return c.found, nil
	case !dry:
		c.read = false
	}
	rel, err := c.ActionClient.Upgrade(name, namespace, chrt, vals, opts...)
	if err != nil {
		return rel, c.failed(err)
	}
	switch {
	case !dry:
		c.remember(rel, c.digest(rel, chrt, vals))
		return toWatch(rel), nil
	case c.isFoundDeployed() && rel.Manifest == c.found.Manifest:
		c.entry.deployed.Digest = c.digest(c.found, chrt, vals)
	}
	return rel, nil
}

// isDeployed tells by the Collector's status whether rendering would lead to the release that Get found. That is for the
// first pass after a start. Later ones that are not answered from memory have a reason not to be, such as an object that
// has gone, and rendering finds out whether its kind has too.
func (c *actionClient) isDeployed(chrt *chart.Chart, vals map[string]any) bool {
	known := digestIn(c.collector)
	return !c.entry.known && known != "" && c.isFoundDeployed() && known == c.digest(c.found, chrt, vals)
}

func (c *actionClient) isFoundDeployed() bool {
	return c.found != nil && c.found.Info.Status == release.StatusDeployed
}

// Reconcile repairs what differs between rel and its objects. It remembers them once they are as they should be.
func (c *actionClient) Reconcile(rel *release.Release) error {
	if err := c.ActionClient.Reconcile(rel); err != nil {
		c.entry.release = nil
		return c.failed(err)
	}
	c.remember(rel, c.entry.deployed.Digest)
	objects, all := c.InOrder()
	if !all {
		c.again(client.ObjectKeyFromObject(c.collector), behind)
		return nil
	}
	c.entry.objects = objects
	c.entry.release = withoutContent(rel)
	return nil
}

// Uninstall uninstalls a release and forgets it.
func (c *actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	response, err := c.ActionClient.Uninstall(name, opts...)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return response, c.failed(err)
	}
	c.memory.Forget(c.collector.GetUID())
	return response, err
}

func (c *actionClient) failed(err error) error {
	c.entry.err = err
	return err
}

// remember keeps rel, which is what the spec asks for.
func (c *actionClient) remember(rel *release.Release, digest string) {
	if !c.answers {
		c.entry.since = time.Now()
	}
	c.entry.known = true
	c.entry.release, c.entry.objects = rel, nil
	c.entry.generation, c.entry.configuration, c.entry.capabilities = c.collector.GetGeneration(), c.configuration, c.capabilities
	c.entry.deployed = deployedBy(rel)
	c.entry.deployed.Digest = digest
}

// withoutContent returns what the reconciler reads of a release whose objects are in order. The manifest is not empty,
// because that would be what the status has: the reconciler would take it that there is nothing to say.
func withoutContent(rel *release.Release) *release.Release {
	return &release.Release{
		Name: rel.Name, Namespace: rel.Namespace, Version: rel.Version, Info: rel.Info, Manifest: "# in order\n",
	}
}
