package reconcile

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
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// Options are what the operator gives to the action clients of one kind.
type Options struct {
	// Source has what revisions are made from.
	Source *history.Source

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

	// Flows returns what is known of the data that flows through a Collector's pods, and since when they are watched.
	Flows func(collector client.Object) (verdicts map[types.UID]flow.Verdict, began time.Time)

	// Canary has a change that the operator brings prove itself also without spec.canary, as with the defaults of that.
	Canary bool

	// Alone says that no other operator works on the same Collectors.
	Alone bool

	// Period is for how long a Collector can be taken to be unchanged.
	Period time.Duration
}

// Clients gives the stock reconciler of one kind its action clients. Its fields have all that they need of the world,
// because the simulation has another one.
type Clients struct {
	Options
	memories sync.Map // of memory, by the Collector's name

	now       func() time.Time
	live      reader
	revisions revisions
	clusterOf func(collector *unstructured.Unstructured) apply.Cluster
	recordsOf func(*reconcile) records
	decision  func(plan.Situation) plan.Plan
	cacheWait time.Duration
	goneWait  time.Duration
	together  func(count int, do func(int))
}

// New returns the action clients of one kind. cluster reads from the informer cache and writes, and apiReader reads from the API server.
func New(cluster client.Client, apiReader client.Reader, options Options) *Clients {
	c := &Clients{
		Options: options, now: time.Now, live: &live.Reader{Cache: cluster, Live: apiReader}, revisions: options.Source,
		decision: plan.Decide, cacheWait: cacheWait, goneWait: goneWait, together: apply.Concurrently,
	}
	c.Source.Record = func(ctx context.Context, of *unstructured.Unstructured, number int) (history.Content, error) {
		return (&history.Records{Live: apiReader, Collector: of}).Read(ctx, number)
	}
	c.clusterOf = func(collector *unstructured.Unstructured) apply.Cluster {
		return apply.NewCluster(cluster, apiReader, collector)
	}
	c.recordsOf = func(r *reconcile) records {
		return &history.Records{
			Cluster: cluster, Live: apiReader, Collector: r.collector, Chart: c.Source.Chart.Chart,
			Limit: history.LimitOf(r.collector), Deployed: r.deployed.Revision, History: r.deployed.History,
		}
	}
	return c
}

// reader reads what a Collector has.
type reader interface {
	Of(ctx context.Context, of client.Object, kinds, optional []schema.GroupVersionKind) (map[live.Reference]live.Object, error)
	Disowned(ctx context.Context, of client.Object, kinds []schema.GroupVersionKind) ([]live.Reference, error)
	Scaler(ctx context.Context, of client.Object, workload live.Reference, own map[live.Reference]live.Object) (string, error)
	Used(
		ctx context.Context, collector client.Object, objects map[live.Reference]live.Object,
	) (live.Used, []live.Pod, error)
}

// revisions renders a Collector's revision now, or returns it as its record has it.
type revisions interface {
	Inputs(ctx context.Context, of *unstructured.Unstructured) (history.Inputs, *render.Served, error)
	Render(ctx context.Context, of *unstructured.Unstructured, values map[string]any, running string) (*history.Revision, error)
	Recorded(
		ctx context.Context, of *unstructured.Unstructured, recorded history.Content, beside *history.Revision,
	) (*history.Revision, error)
}

// records are those of one Collector's revisions.
type records interface {
	Prepare(ctx context.Context) error
	Begin(ctx context.Context, content history.Content) (v1alpha1.RecordedRevision, error)
	Accept(ctx context.Context, begun v1alpha1.RecordedRevision)
	Withdraw(ctx context.Context, begun v1alpha1.RecordedRevision) error
	MakeRoom(ctx context.Context, refusal error)
	Read(ctx context.Context, revision int) (history.Content, error)
	Forget(ctx context.Context, mayHaveBegun bool) (found bool, err error)
	Kept() []v1alpha1.RecordedRevision
}
