// Package release is step 6 of the data flow: it makes the cluster what a Collector asks for.
//
// The stock reconciler asks one interface for everything, client.ActionInterface. This package is its one implementation.
// It reads from top to bottom: render, own, order, check, apply, prune, record; a file has each verb. Helm renders and records,
// and the API server merges. The client decides by the spec and by what is in the cluster, never by a stored state.
// An operator that was killed at any point leaves nothing to unlock: the next reconcile applies, prunes and records.
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/postrender"
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

	// Shard tells the objects of this operator's Collectors from those of others, by a label. Empty says that there are no others.
	Shard string

	// Alone says that no other operator works on the same Collectors.
	Alone bool

	// Period is for how long a Collector can be taken to be unchanged.
	Period time.Duration
}

// Clients gives the stock reconciler of one kind its action clients.
type Clients struct {
	Options
	chart   *Chart
	cluster client.Client // reads from the informer cache, and writes
	live    client.Reader // reads from the API server
	offers  *offers
	watcher *watcher
	queue   *queue
	memory  memory
}

// actionClient is the action client of one reconcile of one Collector.
type actionClient struct {
	*Clients
	ctx       context.Context //nolint:containedctx // of that reconcile; the interface has no room for it
	collector *unstructured.Unstructured
	began     time.Time
	*entry

	observed map[ref]client.Object // what the Collector controls, by the informer cache
	moved    bool                  // from another operator, whose objects the informer cache does not have
	values   map[string]any
	rendered *Rendered
	lacking  string // the message about references that are not followed

	references string // tells versions of those that are followed apart
	version    inputs // of what it was rendered from
	hasEnded   bool
}

var _ helmclient.ActionInterface = &actionClient{}

// ActionClientFor returns the action client for one reconcile of collector, which must be unstructured.
func (c *Clients) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("a Collector must be unstructured")
	}
	r := &actionClient{Clients: c, ctx: ctx, collector: parsed, began: time.Now(), entry: c.memory.of(collector)}
	r.err, r.contested, r.checking, r.update = nil, "", "", nil
	if err := errors.Join(r.observe(ctx), r.observeMoved(ctx)); err != nil {
		return nil, r.failed(err)
	}
	return r, nil
}

// Get returns the deployed release, without its content: of the manifest it has what tells it apart from others.
func (r *actionClient) Get(string, ...helmclient.GetOption) (*release.Release, error) {
	r.recall()
	if r.deployed == nil {
		return nil, driver.ErrReleaseNotFound
	}
	return r.answer(r.hash), nil
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
	if !r.moved && r.isUnchanged() && (!r.deferred || r.waits()) {
		return r.answer(r.hash), nil
	}
	if err := r.render(); err != nil {
		r.Metrics.Acted(metrics.Upgrade, err)
		return r.end(err)
	}
	if !r.moved && r.rendersTheSame() || r.isDeferred() {
		return r.answer(r.hash), nil
	}
	return r.answer(r.rendered.hash), nil
}

// Reconcile repairs the objects of the deployed revision, if they need it.
func (r *actionClient) Reconcile(*release.Release) error {
	if r.rendered == nil || r.update != nil { // the dry run found nothing to do now
		r.succeeded(metrics.Fast)
		return nil
	}
	_, err := r.end(r.deploy(false))
	return err
}

// Uninstall deletes all that the Collector controls. It is an error if that has not gone then.
func (r *actionClient) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	found, err := r.uninstall()
	if err == nil {
		r.memory.forget(client.ObjectKeyFromObject(r.collector))
	}
	if err == nil && !found {
		r.succeeded(metrics.Full)
		return nil, driver.ErrReleaseNotFound
	}
	r.Metrics.Acted(metrics.Uninstall, err)
	if _, err := r.end(err); err != nil {
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

// act deploys a revision, unless a check has not accepted it yet.
func (r *actionClient) act(action string) (*release.Release, error) {
	err := r.deploy(true)
	if r.checking == "" {
		r.Metrics.Acted(action, err)
		r.tellUnfollowed(err)
	}
	return r.end(err)
}

// deploy makes the cluster what the Collector asks for. It is done again if a kind turns out to have gone meanwhile.
func (r *actionClient) deploy(revise bool) error {
	if r.rendered == nil {
		if err := r.render(); err != nil {
			return err
		}
	}
	err := r.sync(revise)
	if gone := (*goneError)(nil); !errors.As(err, &gone) {
		return err
	}
	if now, askErr := r.offers.ask(r.ctx); askErr != nil || now.version == r.version.offered {
		return err
	}
	if err := r.render(); err != nil {
		return err
	}
	return r.sync(revise || r.rendered.hash != r.hash)
}

// sync is the sequence.
func (r *actionClient) sync(revise bool) error {
	if err := errors.Join(r.discard(), r.take()); err != nil {
		return err
	}
	if job := r.unchecked(); job != nil {
		return r.check(job)
	}
	if revise {
		if err := r.readRecords(); err != nil {
			return err
		}
	}
	if err := r.apply(r.rendered.Objects, revise); err != nil {
		return err
	}
	if err := r.prune(); err != nil {
		return err
	}
	if revise {
		if err := r.record(); err != nil {
			return err
		}
	}
	r.remember()
	return nil
}

// answer returns what the stock reconciler needs of a release: by the manifest it tells whether there is something to do.
func (r *actionClient) answer(hash string) *release.Release {
	answer := &release.Release{
		Name: r.collector.GetName(), Namespace: r.collector.GetNamespace(),
		Info: &release.Info{Status: release.StatusDeployed}, Manifest: "# " + hash + "\n",
	}
	if r.deployed != nil {
		answer.Version = r.deployed.Revision
	}
	if r.begun {
		answer.Info.Status = release.StatusFailed // so that going back to the deployed revision is one, too
	}
	return answer
}

// end ends the reconcile, with the delay that follows a failure.
func (r *actionClient) end(err error) (*release.Release, error) {
	if err != nil {
		return nil, r.failed(err)
	}
	r.succeeded(metrics.Full)
	return r.answer(r.hash), nil
}

func (r *actionClient) succeeded(result string) {
	r.settle()
	r.Metrics.Reconciled(result, time.Since(r.began))
	switch {
	case v1alpha1.ConditionOf(r.collector, v1alpha1.PresetsReady).Status == corev1.ConditionFalse:
		r.queue.failed(r.collector) // asked again after a growing delay, until somebody has bound the role
	case r.checking == "":
		r.queue.succeeded(r.collector)
	}
}

func (r *actionClient) failed(err error) error {
	r.err, r.whole = err, false
	r.settle()
	if !r.hasEnded {
		r.hasEnded = true
		r.Metrics.Reconciled(metrics.Failed, time.Since(r.began))
		r.queue.failed(r.collector)
	}
	return failure{err}
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
