// Package release is step 6 of the data flow: it makes the cluster what a Collector asks for.
//
// The stock reconciler asks one interface for everything, client.ActionInterface. This package is its one implementation. It looks
// at what the Collector has (inventory) and must become (render), and package plan decides what to do. Then it does
// just that (apply), and records the revision (record). The spec and the objects in the cluster decide that, never a stored state. An
// operator that was killed at any point leaves nothing to unlock.
package release

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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/revision"
)

// actionClient is the action client of one reconcile of one Collector.
type actionClient struct {
	*Clients
	*entry
	ctx       context.Context //nolint:containedctx // of that reconcile; the interface has no room for it
	collector *unstructured.Unstructured
	began     time.Time // the reconcile

	records   records
	found     map[inventory.Reference]inventory.Object // what the Collector controls, by the informer cache
	isUnknown bool                                     // what has happened to the objects since an operator was last done with them
	isMoved   bool                                     // perhaps from another operator, whose objects the informer cache does not have
	values    map[string]any
	rendered  *revision.Revision
	plan      plan.Plan
	outcome   Outcome

	created   []apply.Step // in this reconcile
	immutable apply.Immutables

	isUnrepairable bool // the deployed revision is not recorded any more
}

// ActionClientFor returns the action client for one reconcile of collector, which must be unstructured.
func (c *Clients) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("a Collector must be unstructured")
	}
	r := &actionClient{
		Clients: c, ctx: ctx, collector: parsed, began: c.Waves.Now(), entry: c.entryOf(collector), immutable: apply.Immutables{},
	}
	// Another operator has deployed a later revision than what is remembered. Nothing of that holds any more, as after a start.
	if told := revision.Recall(parsed); told.Revision > r.deployed.Revision {
		*r.entry = entry{uid: r.uid, deployed: told}
	}
	r.records = c.recordsOf(r)
	r.last.InOrder = false // until this reconcile ends, which it does not if it panics
	if err := r.look(); err != nil {
		return nil, r.ends(err)
	}
	return r, nil
}

// Get returns the deployed release, without its content: of the manifest it has what tells it apart from others.
func (r *actionClient) Get(string, ...helmclient.GetOption) (*release.Release, error) {
	if r.deployed.Revision == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return r.answer(r.deployed.Hash()), nil
}

// Install deploys the first revision.
func (r *actionClient) Install(
	_, _ string, _ *chart.Chart, values map[string]any, _ ...helmclient.InstallOption,
) (*release.Release, error) {
	r.values = values
	return r.act(metrics.Install)
}

// Upgrade deploys another revision. A dry run tells whether there is one to deploy.
func (r *actionClient) Upgrade(
	_, _ string, _ *chart.Chart, values map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	r.values = values
	if !isDryRun(opts) {
		return r.act(metrics.Upgrade)
	}
	if r.isUnchanged() {
		return r.answer(r.deployed.Hash()), nil
	}
	if err := r.prepare(); err != nil {
		r.Metrics.Acted(metrics.Upgrade, err)
		return nil, r.ends(err)
	}
	if r.plan.Verdict == plan.Deferred {
		return r.answer(r.deployed.Hash()), nil
	}
	return r.answer(r.rendered.Hash), nil
}

// Reconcile repairs the objects of the deployed revision, if they need it.
func (r *actionClient) Reconcile(*release.Release) error {
	if r.rendered == nil { // the dry run found nothing to do
		return r.ends(nil)
	}
	return r.ends(r.carryOut())
}

// act deploys a revision, unless a check has not accepted it yet.
func (r *actionClient) act(action string) (*release.Release, error) {
	var err error
	if r.rendered == nil {
		err = r.prepare()
	}
	if err == nil {
		err = r.carryOut()
	}
	if r.plan.Verdict != plan.Checking || err != nil {
		r.Metrics.Acted(action, err)
		r.tellUnfollowed(err)
	}
	if err = r.ends(err); err != nil {
		return nil, err
	}
	return r.answer(r.deployed.Hash()), nil
}

// Uninstall deletes all that the Collector controls. It is an error if that has not gone then.
func (r *actionClient) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	found, err := r.uninstall()
	if err == nil {
		r.memory.Delete(client.ObjectKeyFromObject(r.collector))
		if !found {
			return nil, errors.Join(r.ends(nil), driver.ErrReleaseNotFound)
		}
	}
	r.Metrics.Acted(metrics.Uninstall, err)
	if err := r.ends(err); err != nil {
		return nil, err
	}
	return &release.UninstallReleaseResponse{Release: r.answer("")}, nil
}

// History is for what the stock reconciler does not do.
func (r *actionClient) History(string, ...helmclient.HistoryOption) ([]*release.Release, error) {
	return nil, errors.New("the operator does not read the history of releases; `helm history` does")
}

// Config is for what the stock reconciler does not do.
func (r *actionClient) Config() *action.Configuration { return &action.Configuration{} }

// answer returns what the stock reconciler needs of a release: by the manifest it tells whether there is something to do.
func (r *actionClient) answer(hash string) *release.Release {
	return &release.Release{
		Name: r.collector.GetName(), Namespace: r.collector.GetNamespace(), Version: r.deployed.Revision,
		Info: &release.Info{Status: release.StatusDeployed}, Manifest: "# " + hash + "\n",
	}
}

// ends keeps the outcome of the reconcile, for the status and for the caller.
func (r *actionClient) ends(err error) error {
	r.deployed.History = r.records.Kept()
	r.outcome.Err, r.outcome.Deployed, r.outcome.Obstacle = err, r.deployed, r.plan.Obstacle
	isOfChange := r.rendered != nil && r.plan.Verdict != plan.Deferred && r.plan.Verdict != plan.Drifted
	if err != nil && isOfChange && !apply.IsLost(err) {
		r.outcome.refused = change{r.rendered.Inputs, r.rendered.Hash}
	}
	if r.isUnknown {
		r.expected = nil
	}
	if !apply.IsLost(err) { // what has no answer goes on
		if err := r.withdraw(); err != nil {
			log.FromContext(r.ctx).Info("could not withdraw the record of a change", "because", err.Error())
		}
	}
	if r.outcome.Update == nil {
		r.Waves.Done(r.collector, r.began, err == nil || r.stays(err))
	}
	r.last = r.outcome
	return err
}

// stays tells whether an error is about a change that was seen, and stays until somebody changes something. Nobody waits for it.
func (r *actionClient) stays(err error) bool {
	return errors.As(err, new(*revision.RefusedError)) || errors.As(err, new(*configuration.Error)) ||
		r.rendered != nil && !apply.IsPassing(err)
}

// isDryRun tells whether the options make an upgrade a dry run.
func isDryRun(opts []helmclient.UpgradeOption) bool {
	upgrade := &action.Upgrade{}
	for _, opt := range opts {
		if err := opt(upgrade); err != nil {
			return false // the upgrade fails for that
		}
	}
	return upgrade.DryRun
}
