// Package release is step 6 of the data flow: it makes the cluster what a Collector asks for.
//
// One reconcile looks at what the Collector has (inventory), renders what it is to become (revision), has package plan decide what to do,
// and does just that (apply). A revision begins with its record (record), and the status accepts it. The spec and the objects in the
// cluster decide, never a stored state: an operator that was killed at any point leaves nothing to unlock.
package release

import (
	"context"
	"errors"
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/metrics"
)

// actionClient is what the stock reconciler has of one reconcile. Get and the dry run answer the same release, installed or not, so the
// stock reconciler has nothing to decide. It brings the values with the dry run, and calls Reconcile.
type actionClient struct{ *reconcile }

// ActionClientFor returns the action client for one reconcile of collector, which must be unstructured.
func (c *Clients) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("a Collector must be unstructured")
	}
	return &actionClient{c.newReconcile(ctx, parsed)}, nil
}

// Get answers the release.
func (a *actionClient) Get(string, ...helmclient.GetOption) (*release.Release, error) {
	return a.answer(), nil
}

// Upgrade takes the values. It is only asked for a dry run.
func (a *actionClient) Upgrade(
	_, _ string, _ *chart.Chart, values map[string]any, _ ...helmclient.UpgradeOption,
) (*release.Release, error) {
	a.values = values
	return a.answer(), nil
}

// Reconcile installs, changes or repairs what the Collector has. It says in the release which revision is deployed then.
func (a *actionClient) Reconcile(of *release.Release) error {
	err := a.run()
	of.Version = a.deployed.Revision
	return err
}

// Uninstall deletes all that the Collector controls. It is an error if that has not gone then.
func (a *actionClient) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	found, err := a.uninstall()
	a.Metrics.Acted(metrics.Uninstall, err)
	a.ends(err)
	if err != nil {
		return nil, err
	}
	a.memories.Delete(client.ObjectKeyFromObject(a.collector))
	if !found {
		return nil, driver.ErrReleaseNotFound
	}
	return &release.UninstallReleaseResponse{Release: a.answer()}, nil
}

// Install is for what the stock reconciler does not do: there is always a release.
func (a *actionClient) Install(
	name, _ string, _ *chart.Chart, _ map[string]any, _ ...helmclient.InstallOption,
) (*release.Release, error) {
	return nil, fmt.Errorf("release %s is installed by a reconcile", name)
}

// History is for what the stock reconciler does not do.
func (a *actionClient) History(string, ...helmclient.HistoryOption) ([]*release.Release, error) {
	return nil, errors.New("the operator does not read the history of releases; `helm history` does")
}

// Config is for what the stock reconciler does not do.
func (a *actionClient) Config() *action.Configuration { return &action.Configuration{} }

// answer returns what the stock reconciler needs of a release. It has the status written only if it has changed something of it. The status
// has no manifest, so a manifest that is not empty always does.
func (a *actionClient) answer() *release.Release {
	return &release.Release{
		Name: a.collector.GetName(), Namespace: a.collector.GetNamespace(), Version: a.deployed.Revision,
		Info: &release.Info{Status: release.StatusDeployed}, Manifest: "# see the record of the revision\n",
	}
}
