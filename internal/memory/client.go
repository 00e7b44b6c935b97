package memory

import (
	"context"
	"errors"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/drift"
)

// behind is how long to wait for a cache that is behind what the pass has done.
const behind = time.Second

// ActionClients decorates the clients that next gives. again asks for another pass over a Collector.
func (m *Memory) ActionClients(next drift.Getter, again func(client.ObjectKey, time.Duration)) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		r := m.entry(obj.GetUID())
		r.err = nil
		actions, err := next.For(ctx, obj)
		if err != nil {
			r.err = err
			return nil, err
		}
		c := &actionClient{ActionClient: actions, memory: m, entry: r, collector: obj, again: again}
		if collector, ok := obj.(*unstructured.Unstructured); ok {
			c.configuration = m.Configuration(collector)
		}
		if c.answers = m.answers(ctx, r, obj, c.configuration); !c.answers {
			r.release, r.objects = nil, nil
		}
		return c, nil
	})
}

// actionClient serves one pass over one Collector.
type actionClient struct {
	*drift.ActionClient
	memory        *Memory
	entry         *entry
	collector     client.Object
	configuration string
	again         func(client.ObjectKey, time.Duration)

	answers bool // the pass can be answered from the entry
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
	c.remember(rel)
	return rel, nil
}

// Upgrade upgrades a release and remembers it, or tells by a dry run what an upgrade would make of it: the same, if the
// pass can be answered from memory.
func (c *actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	dry, err := isDryRun(opts)
	if err != nil {
		return nil, c.failed(err)
	}
	if dry && c.answers {
		return c.entry.release, nil
	}
	if !dry {
		c.read = false
	}
	rel, err := c.ActionClient.Upgrade(name, namespace, chrt, vals, opts...)
	if err != nil {
		return rel, c.failed(err)
	}
	if !dry {
		c.remember(rel)
	}
	return rel, nil
}

// Reconcile repairs what differs between rel and its objects. It remembers them once they are as they should be.
func (c *actionClient) Reconcile(rel *release.Release) error {
	if c.answers && c.entry.objects != nil {
		return nil
	}
	if err := c.ActionClient.Reconcile(rel); err != nil {
		c.entry.release = nil
		return c.failed(err)
	}
	c.remember(rel)
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
func (c *actionClient) remember(rel *release.Release) {
	if !c.answers {
		c.entry.since = time.Now()
	}
	c.entry.release, c.entry.objects = rel, nil
	c.entry.generation, c.entry.configuration = c.collector.GetGeneration(), c.configuration
	c.entry.deployed = deployedBy(rel)
}

// withoutContent returns what the reconciler reads of a release whose objects are in order. The manifest is not empty,
// because that would be what the status has: the reconciler would take it that there is nothing to say.
func withoutContent(rel *release.Release) *release.Release {
	return &release.Release{
		Name: rel.Name, Namespace: rel.Namespace, Version: rel.Version, Info: rel.Info, Manifest: "# in order\n",
	}
}

func isDryRun(opts []helmclient.UpgradeOption) (bool, error) {
	upgrade := &action.Upgrade{}
	for _, option := range opts {
		if err := option(upgrade); err != nil {
			return false, err
		}
	}
	return upgrade.DryRun, nil
}
