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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// Options are what the operator gives to the action clients.
type Options struct {
	// Configuration returns what a Collector's configuration refers to.
	Configuration func(ctx context.Context, collector *unstructured.Unstructured) (postrender.Referenced, error)

	// ConfigurationVersion tells versions of that apart, by what the informer cache has.
	ConfigurationVersion func(*unstructured.Unstructured) string

	// References tells versions of what a Collector's pods refer to apart, and names what is not followed.
	References func(collector *unstructured.Unstructured, running string) (references string, unfollowed []string)

	// Events takes the events NotFollowed, DriftRepaired and Contested.
	Events record.EventRecorder

	// Metrics counts and times what is done.
	Metrics *metrics.Metrics

	// Waves decide when a change that the operator brings is deployed.
	Waves *rollout.Waves

	// Requeue has a Collector reconciled after a delay.
	Requeue func(collector client.Object, after time.Duration)

	// BackingOff tells whether the delay after a Collector's last failure is not over.
	BackingOff func(collector client.Object) bool

	// Shard tells the objects of this operator's Collectors from those of others, by a label. Empty says that there are no others.
	Shard string

	// Alone says that no other operator works on the same Collectors.
	Alone bool

	// Period is for how long a Collector can be taken to be unchanged.
	Period time.Duration

	// Build is the operator's version: another one may render otherwise.
	Build string
}

// Clients gives the stock reconciler of one kind its action clients. Its fields have all that they need of the world,
// because the simulation has another one.
type Clients struct {
	Options
	chart        *render.Chart
	cluster      client.Client // reads from the informer cache, and writes
	capabilities capabilities
	watcher      *watcher
	memory       memory

	now       func() time.Time
	inventory reader
	clusterOf func(collector *unstructured.Unstructured) apply.Cluster
	recordsOf func(*actionClient) records
	render    func(*actionClient) error
	recorded  func(r *actionClient, revision int) (*recorded, error)
	decision  func(plan.Situation) plan.Plan
	cacheWait time.Duration
	goneWait  time.Duration
	together  func(count int, do func(int))
}

// reader reads what a Collector has.
type reader interface {
	Of(ctx context.Context, of client.Object, kinds, optional []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	OfMoved(ctx context.Context, of client.Object, kinds []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	Used(ctx context.Context, collector client.Object, objects map[inventory.Reference]inventory.Object) (used map[string]bool, orphans int32, err error)
}

// capabilities are the cluster's: its version, and the kinds of its API.
type capabilities interface {
	Get(ctx context.Context) (*render.Offered, error)
	Ask(ctx context.Context) (*render.Offered, error)
}

// records are those of one Collector's revisions.
type records interface {
	Prepare(ctx context.Context, deployed int) error
	Any() bool
	Add(ctx context.Context, manifest string, values map[string]any) (int, error)
	Read(ctx context.Context, revision int) (manifest string, values map[string]any, err error)
	Forget(ctx context.Context) error
}

// actionClient is the action client of one reconcile of one Collector.
type actionClient struct {
	*Clients
	*entry
	ctx       context.Context //nolint:containedctx // of that reconcile; the interface has no room for it
	collector *unstructured.Unstructured

	found     map[inventory.Reference]inventory.Object // what the Collector controls, by the informer cache
	isUnknown bool                                     // what has happened to the objects since an operator was last done with them
	isMoved   bool                                     // perhaps from another operator, whose objects the informer cache does not have
	values    map[string]any
	rendered  *rendered
	plan      plan.Plan
	outcome   Outcome

	created   []apply.Step // in this reconcile
	disturbed bool         // this reconcile has changed something that serves
	immutable map[inventory.Reference]plan.Immutable

	isUnrepairable bool // the deployed revision is not recorded any more
}

var _ helmclient.ActionInterface = &actionClient{}

// ActionClientFor returns the action client for one reconcile of collector, which must be unstructured.
func (c *Clients) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("a Collector must be unstructured")
	}
	r := &actionClient{Clients: c, ctx: ctx, collector: parsed, entry: c.memory.of(collector)}
	r.recall(parsed)
	err := r.look()
	if err == nil && r.isUnknown && collector.GetDeletionTimestamp() == nil {
		err = r.recallLater()
	}
	if err != nil {
		return nil, r.ends(err)
	}
	return r, nil
}

// Get returns the deployed release, without its content: of the manifest it has what tells it apart from others.
func (r *actionClient) Get(string, ...helmclient.GetOption) (*release.Release, error) {
	if r.deployed == nil {
		return nil, driver.ErrReleaseNotFound
	}
	return r.answer(r.hash()), nil
}

// Install deploys the first revision.
func (r *actionClient) Install(
	_, _ string, _ *chart.Chart, values map[string]any, _ ...helmclient.InstallOption,
) (*release.Release, error) {
	r.values = withNulls(values, r.collector)
	return r.act(metrics.Install)
}

// Upgrade deploys another revision. A dry run tells whether there is one to deploy.
func (r *actionClient) Upgrade(
	_, _ string, _ *chart.Chart, values map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	r.values = withNulls(values, r.collector)
	if !isDryRun(opts) {
		return r.act(metrics.Upgrade)
	}
	if r.isUnchanged() {
		return r.answer(r.hash()), nil
	}
	if err := r.render(r); err != nil {
		r.Metrics.Acted(metrics.Upgrade, err)
		return nil, r.ends(r.repairBeside(err))
	}
	if err := r.decide(); err != nil {
		return nil, r.ends(err)
	}
	if r.plan.Verdict == plan.Deferred {
		return r.answer(r.hash()), nil
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
		if err = r.render(r); err != nil {
			err = r.repairBeside(err)
		} else {
			err = r.decide()
		}
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
	return r.answer(r.hash()), nil
}

// Uninstall deletes all that the Collector controls. It is an error if that has not gone then.
func (r *actionClient) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	found, err := r.uninstall()
	if err == nil {
		r.memory.forget(client.ObjectKeyFromObject(r.collector))
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
	answer := &release.Release{
		Name: r.collector.GetName(), Namespace: r.collector.GetNamespace(),
		Info: &release.Info{Status: release.StatusDeployed}, Manifest: "# " + hash + "\n",
	}
	if r.deployed != nil {
		answer.Version = r.deployed.Revision
	}
	return answer
}

// ends keeps the outcome of the reconcile, for the status and for the caller.
func (r *actionClient) ends(err error) error {
	r.outcome.Err, r.outcome.Deployed = err, r.deployed
	isOfChange := r.rendered != nil && r.plan.Verdict != plan.Deferred && r.plan.Verdict != plan.Drifted
	if err != nil && isOfChange && !apply.IsLost(err) {
		r.outcome.refused = change{r.rendered.inputs, r.rendered.Hash}
	}
	if r.isUnknown {
		r.expected = nil
	}
	if r.outcome.Update == nil {
		r.Waves.Settle(r.collector)
	}
	r.last = r.outcome
	return err
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
