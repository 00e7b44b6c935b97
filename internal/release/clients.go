package release

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	events "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/apply"
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

	// Ask asks the API server what the cluster offers.
	Ask func(ctx context.Context) (*render.Offered, error)

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

	// Alone says that no other operator works on the same Collectors.
	Alone bool

	// Period is for how long a Collector can be taken to be unchanged.
	Period time.Duration
}

// Clients gives the stock reconciler of one kind its action clients. Its fields have all that they need of the world,
// because the simulation has another one.
type Clients struct {
	Options
	memory memory

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
		Options: options, memory: memory{entries: map[client.ObjectKey]*entry{}}, now: time.Now,
		inventory: inventory.Reader{Cache: cluster, Live: live}, revisions: options.Source,
		decision: plan.Decide, cacheWait: cacheWait, goneWait: goneWait, together: apply.Concurrently,
	}
	c.clusterOf = func(collector *unstructured.Unstructured) apply.Cluster {
		return apply.NewCluster(cluster, live, collector)
	}
	c.recordsOf = func(r *actionClient) records {
		return &record.Records{
			Known: &r.records, Cluster: cluster, Live: live, Collector: r.collector, Chart: c.Source.Chart.Chart, Alone: c.Alone,
		}
	}
	return c
}

// reader reads what a Collector has.
type reader interface {
	Of(ctx context.Context, of client.Object, kinds, optional []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	OfMoved(ctx context.Context, of client.Object, kinds []schema.GroupVersionKind) (map[inventory.Reference]inventory.Object, error)
	Used(ctx context.Context, collector client.Object, objects map[inventory.Reference]inventory.Object) (map[string]bool, error)
}

// revisions are made from what there is now, or from a record.
type revisions interface {
	Inputs(ctx context.Context, collector *unstructured.Unstructured) (revision.Inputs, error)
	Render(
		ctx context.Context, collector *unstructured.Unstructured, values map[string]any, running string,
	) (*revision.Revision, error)
	Recorded(
		ctx context.Context, collector *unstructured.Unstructured, manifest string, values map[string]any, beside *revision.Revision,
	) (*revision.Revision, error)
}

// records are those of one Collector's revisions.
type records interface {
	Prepare(ctx context.Context, deployed int) error
	Any() bool
	Add(ctx context.Context, manifest string, values map[string]any) (int, error)
	Read(ctx context.Context, revision int) (manifest string, values map[string]any, err error)
	Forget(ctx context.Context) error
}

// Of returns how the last reconcile of a Collector ended.
func (c *Clients) Of(collector client.Object) Outcome {
	if e := c.memory.find(client.ObjectKeyFromObject(collector), collector.GetUID()); e != nil {
		return e.last
	}
	return Outcome{}
}

// Knows tells whether a Collector has been reconciled since the operator started.
func (c *Clients) Knows(collector client.ObjectKey, uid types.UID) bool {
	return c.memory.find(collector, uid) != nil
}

// Ended returns how the last reconcile of a Collector went.
func (c *Clients) Ended(collector client.ObjectKey) Ended {
	c.memory.mutex.Lock()
	defer c.memory.mutex.Unlock()
	if e := c.memory.entries[collector]; e != nil {
		return e.last.Ended
	}
	return Ended{}
}

// Forget forgets a Collector that the operator is no longer for. Its reconcile must call it, so that none begins to remember again.
func (c *Clients) Forget(collector client.ObjectKey) {
	c.memory.forget(collector)
	c.Waves.Forget(collector)
}
