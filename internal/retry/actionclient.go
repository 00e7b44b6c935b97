package retry

import (
	"errors"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/types"
)

// actionClient serves one pass over one Collector.
type actionClient struct {
	helmclient.ActionInterface
	queue      *Queue
	key        types.NamespacedName
	generation int64
	hasFailed  bool // in this pass, which counts once: the reconciler goes on after the first Get has failed
}

// failed returns err as the reconciler should see it.
func (c *actionClient) failed(err error) error {
	if !c.hasFailed {
		c.hasFailed = true
		c.queue.failed(c.key, c.generation)
	}
	return failure{err}
}

// Get returns the latest revision of a release.
func (c *actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	rel, err := c.ActionInterface.Get(name, opts...)
	if err == nil || errors.Is(err, driver.ErrReleaseNotFound) { // an answer, too
		return rel, err
	}
	return nil, c.failed(err)
}

// Install installs a release.
func (c *actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Install(name, namespace, chrt, vals, opts...)
	if err != nil {
		return rel, c.failed(err)
	}
	c.queue.succeeded(c.key)
	return rel, nil
}

// Upgrade upgrades a release, or tells what an upgrade would lead to.
func (c *actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Upgrade(name, namespace, chrt, vals, opts...)
	if err != nil {
		return rel, c.failed(err)
	}
	if !IsDryRun(opts) {
		c.queue.succeeded(c.key)
	}
	return rel, nil
}

// IsDryRun tells whether the options make an upgrade a dry run, which is only the first half of a pass.
func IsDryRun(opts []helmclient.UpgradeOption) bool {
	upgrade := &action.Upgrade{}
	for _, opt := range opts {
		if err := opt(upgrade); err != nil {
			return false // the upgrade has failed for that
		}
	}
	return upgrade.DryRun
}

// Reconcile repairs the objects of a release.
func (c *actionClient) Reconcile(rel *release.Release) error {
	if err := c.ActionInterface.Reconcile(rel); err != nil {
		return c.failed(err)
	}
	c.queue.succeeded(c.key)
	return nil
}

// Uninstall removes a release and its objects.
func (c *actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	response, err := c.ActionInterface.Uninstall(name, opts...)
	if err == nil || errors.Is(err, driver.ErrReleaseNotFound) { // nothing is left either way
		c.queue.succeeded(c.key)
		return response, err
	}
	return response, c.failed(err)
}
