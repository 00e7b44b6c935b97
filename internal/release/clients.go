package release

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	events "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/revision"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// Options are what the operator gives to the action clients of one kind.
type Options struct {
	// Source has what revisions are made from.
	Source *revision.Source

	// Discover asks the API server which APIs the cluster serves.
	Discover func(ctx context.Context) (*render.Served, error)

	// Events takes the events NotFollowed, DriftRepaired and Contested.
	Events events.EventRecorder

	// Metrics counts and times what is done.
	Metrics *metrics.Metrics

	// Waves decide when a change that the operator brings is deployed.
	Waves *rollout.Waves

	// BackingOff tells whether the delay after a Collector's last failure is not over.
	BackingOff func(collector client.Object) bool

	// IsChosen tells whether a Collector is one of those that the operator is for.
	IsChosen func(ctx context.Context, collector client.ObjectKey) bool

	// Period is for how long a Collector can be taken to be unchanged.
	Period time.Duration
}

// Clients gives the stock reconciler of one kind its action clients. Its fields have all that they need of the world,
// because the simulation has another one.
type Clients struct {
	Options
	memory sync.Map // of *entry, by the Collector's name

	now       func() time.Time
	inventory reader
	revisions revisions
	clusterOf func(collector *unstructured.Unstructured) apply.Cluster
	recordsOf func(*actionClient) records
	decision  func(plan.Situation) plan.Plan
	cacheWait time.Duration
	goneWait  time.Duration
	together  func(count int, do func(int))
}

// New returns the action clients of one kind. cluster reads from the informer cache and writes, and live reads from the API server.
func New(cluster client.Client, live client.Reader, options Options) *Clients {
	c := &Clients{
		Options: options, now: time.Now, inventory: &inventory.Reader{Cache: cluster, Live: live}, revisions: options.Source,
		decision: plan.Decide, cacheWait: cacheWait, goneWait: goneWait, together: apply.Concurrently,
	}
	c.clusterOf = func(collector *unstructured.Unstructured) apply.Cluster {
		return apply.NewCluster(cluster, live, collector)
	}
	c.recordsOf = func(r *actionClient) records {
		return &record.Records{
			Cluster: cluster, Live: live, Collector: r.collector, Chart: c.Source.Chart.Chart,
			Limit: record.LimitOf(r.collector), Deployed: r.deployed.Revision, History: r.deployed.History,
		}
	}
	return c
}

// reader reads what a Collector has.
type reader interface {
	Of(ctx context.Context, of client.Object, kinds, optional []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	OfMoved(ctx context.Context, of client.Object, kinds []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	Used(ctx context.Context, collector client.Object, objects map[inventory.Reference]inventory.Object) (inventory.Used, int32, error)
}

// revisions renders a Collector's revision now, or returns it as its record has it.
type revisions interface {
	Inputs(ctx context.Context, of *unstructured.Unstructured) (revision.Inputs, *render.Served, error)
	Render(ctx context.Context, of *unstructured.Unstructured, values map[string]any, running string) (*revision.Revision, error)
	Recorded(
		ctx context.Context, of *unstructured.Unstructured, recorded record.Content, beside *revision.Revision,
	) (*revision.Revision, error)
}

// records are those of one Collector's revisions.
type records interface {
	Prepare(ctx context.Context) error
	Begin(ctx context.Context, content record.Content) (v1alpha1.RecordedRevision, error)
	Accept(ctx context.Context, begun v1alpha1.RecordedRevision)
	Withdraw(ctx context.Context, begun v1alpha1.RecordedRevision) error
	Read(ctx context.Context, revision int) (record.Content, error)
	Forget(ctx context.Context) (found bool, err error)
	Kept() []v1alpha1.RecordedRevision
}

// entry is what the operator remembers of a Collector. Only its reconcile uses it, and there is one at a time. Without it, as after a
// start, status and objects say the same.
type entry struct {
	uid      types.UID // of the Collector
	latest   change    // that was rendered; to the deployed revision, unless a change of the operator waits
	until    time.Time // for how long that can be taken to be unchanged
	expected drift.Expectations
	waits    map[inventory.Reference]bool // what is pruned once nobody needs it
	deployed revision.Deployed

	begun     *v1alpha1.RecordedRevision // and not accepted yet; with revision 0 there is none, and nil until it is known
	disturbed bool                       // only a part of what serves is of the revision that was begun or repaired last

	failed struct { // the last repair beside a change that waits or is refused
		err    error
		harmed map[inventory.Reference]bool
	}

	lacked string // what was last said of references that are not followed
	last   Outcome
}

// change is what a Collector was rendered to, and from what.
type change struct {
	revision.Inputs
	hash string
}

// Outcome is how the last reconcile of a Collector ended.
type Outcome struct {
	// Verdict is what was decided.
	Verdict plan.Verdict

	// Deployed is the release. It is zero if none was deployed since the operator started.
	Deployed revision.Deployed

	// InOrder says that the informer cache has every object as it should be.
	InOrder bool

	// Obstacle says what keeps objects from being as they should, or is empty.
	Obstacle string

	// Checking says which Job has not accepted a change yet, or is empty.
	Checking string

	// Update says that a change by the operator is not deployed yet, or is nil.
	Update *v1alpha1.Condition

	// Err is the error that ended the reconcile, or nil.
	Err error

	// Fast says that there was nothing to do by what is remembered.
	Fast bool

	// Requeue is when to reconcile again although nothing happens; 0 leaves it to the period.
	Requeue time.Duration

	refused change // what Err is about, if it is a change that nobody accepts
}

// Of returns how the last reconcile of a Collector ended.
func (c *Clients) Of(collector client.Object) Outcome {
	if key := client.ObjectKeyFromObject(collector); c.Knows(key, collector.GetUID()) {
		return c.Last(key)
	}
	return Outcome{}
}

// Last returns how the last reconcile of a Collector of a name ended.
func (c *Clients) Last(collector client.ObjectKey) Outcome {
	if e := c.remembered(collector); e != nil {
		return e.last
	}
	return Outcome{}
}

// Knows tells whether a Collector has been reconciled since the operator started.
func (c *Clients) Knows(collector client.ObjectKey, uid types.UID) bool {
	e := c.remembered(collector)
	return e != nil && e.uid == uid
}

// Forget forgets a Collector that the informer cache does not have any more: another operator may be for it now. A reconcile that runs
// ends, and remembers nothing.
func (c *Clients) Forget(collector client.ObjectKey) {
	c.memory.Delete(collector)
	c.Waves.Forget(collector)
}

// entryOf returns the entry of a Collector, which is empty if there is none.
func (c *Clients) entryOf(collector client.Object) *entry {
	key := client.ObjectKeyFromObject(collector)
	found := c.remembered(key)
	if found == nil || found.uid != collector.GetUID() {
		found = &entry{uid: collector.GetUID()}
		c.memory.Store(key, found)
	}
	return found
}

// remembered returns the entry of the Collector of a name, or nil. It may be an earlier Collector.
func (c *Clients) remembered(key client.ObjectKey) *entry {
	found, _ := c.memory.Load(key)
	e, _ := found.(*entry)
	return e
}
