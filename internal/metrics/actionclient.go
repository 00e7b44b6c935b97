package metrics

import (
	"context"
	"errors"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/memory"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/retry"
)

// ActionClients decorates the clients that next gives, which should be those of a memory: it tells fast passes by them.
// A pass is measured from its client to the last thing that it asks of it; the status is written after that. The passes
// over paused Collectors have no client, and are not counted.
func (m *Metrics) ActionClients(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		c := &actionClient{metrics: m, began: time.Now(), result: full}
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			c.end(err)
			return nil, err
		}
		if memory.Answers(actions) {
			c.result = fast
		}
		c.ActionInterface = actions
		return c, nil
	})
}

// actionClient serves one pass over one Collector.
type actionClient struct {
	helmclient.ActionInterface
	metrics *Metrics
	began   time.Time
	result  string // if there is no error
	ended   bool
}

// end ends the pass, if it has not ended: the reconciler goes on after the first Get has failed.
func (c *actionClient) end(err error) {
	if c.ended {
		return
	}
	c.ended = true
	if err != nil {
		c.result = failed
	}
	c.metrics.passes.WithLabelValues(c.result).Observe(time.Since(c.began).Seconds())
}

// done counts an action, with which the pass ends.
func (c *actionClient) done(action string, err error) {
	result := success
	var refused *postrender.ConfigurationError
	switch {
	case errors.As(err, &refused):
		result = rejected
	case err != nil:
		result = failure
	}
	c.metrics.actions.WithLabelValues(action, result).Inc()
	c.end(err)
}

// Get returns the latest revision of a release.
func (c *actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	rel, err := c.ActionInterface.Get(name, opts...)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) { // which is an answer, too
		c.end(err)
	}
	return rel, err
}

// Install installs a release.
func (c *actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Install(name, namespace, chrt, vals, opts...)
	c.done(install, err)
	return rel, err
}

// Upgrade upgrades a release. A dry run that fails is an upgrade that did; one that succeeds is none.
func (c *actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Upgrade(name, namespace, chrt, vals, opts...)
	if err != nil || !retry.IsDryRun(opts) {
		c.done(upgrade, err)
	}
	return rel, err
}

// Reconcile repairs the objects of a release.
func (c *actionClient) Reconcile(rel *release.Release) error {
	err := c.ActionInterface.Reconcile(rel)
	c.end(err)
	return err
}

// Uninstall removes a release and its objects.
func (c *actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	response, err := c.ActionInterface.Uninstall(name, opts...)
	if errors.Is(err, driver.ErrReleaseNotFound) { // nothing was left to do
		c.end(nil)
	} else {
		c.done(uninstall, err)
	}
	return response, err
}
