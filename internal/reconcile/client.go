// Package reconcile is step 6 of the data flow: it makes the cluster what a Collector asks for.
//
// One reconcile looks at what the Collector has (live), renders what it is to become (history), has package plan decide what to do,
// and does just that (apply). A revision begins with its record, and the status accepts it. The spec and the objects in the
// cluster decide, never a stored state: an operator that was killed at any point leaves nothing to unlock.
package reconcile

import (
	"context"
	"errors"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/metrics"
)

// actionClient is what the stock reconciler has of one reconcile. Get and the dry run answer the same release, installed or not, so the
// stock reconciler has nothing to decide. It brings the values with the dry run, and calls Reconcile.
type actionClient struct {
	*reconcile
	helmclient.ActionInterface // nil, for the methods that the stock reconciler does not call: Install, History and Config
}

// ActionClientFor returns the action client for one reconcile of collector, which must be unstructured.
func (c *Clients) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("a Collector must be unstructured")
	}
	return &actionClient{reconcile: c.newReconcile(ctx, parsed)}, nil
}

// Get answers the release.
func (a *actionClient) Get(string, ...helmclient.GetOption) (*helm.Release, error) {
	return a.answer(), nil
}

// Upgrade takes the values. It is only asked for a dry run.
func (a *actionClient) Upgrade(
	_, _ string, _ *helm.Chart, values map[string]any, _ ...helmclient.UpgradeOption,
) (*helm.Release, error) {
	a.values = values
	return a.answer(), nil
}

// Reconcile installs, changes or repairs what the Collector has. It says in the release which revision is deployed then.
func (a *actionClient) Reconcile(of *helm.Release) error {
	known, err := a.run()
	a.keep(client.ObjectKeyFromObject(a.collector), known)
	of.Version = a.deployed.Revision
	return err
}

// Uninstall deletes all that the Collector controls. It is an error if that has not gone then.
func (a *actionClient) Uninstall(string, ...helmclient.UninstallOption) (*helm.Uninstalled, error) {
	found, err := a.uninstall()
	if err == nil || a.isLate() { // until then, finalizers mostly keep claims that pods still use
		a.Metrics.Acted(metrics.Uninstall, err)
	}
	a.keep(client.ObjectKeyFromObject(a.collector), a.ended(err))
	if err != nil {
		return nil, err
	}
	a.memories.Delete(client.ObjectKeyFromObject(a.collector))
	if !found {
		return nil, helm.ErrNotFound
	}
	return &helm.Uninstalled{Release: a.answer()}, nil
}

// answer returns what the stock reconciler needs of a release. It has the status written only if it has changed something of it. The status
// has no manifest, so a manifest that is not empty always does.
func (a *actionClient) answer() *helm.Release {
	return &helm.Release{
		Name: a.collector.GetName(), Namespace: a.collector.GetNamespace(), Version: a.deployed.Revision,
		Info: &helm.Info{Status: helm.Deployed}, Manifest: "# see the record of the revision\n",
	}
}
