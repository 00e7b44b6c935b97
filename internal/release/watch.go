package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/render"
)

const (
	// followTimeout is how long the watches of kinds that the cluster has got may take to begin.
	followTimeout = 10 * time.Second

	// pace is the time between the reconciles of two Collectors when the capabilities of the cluster have changed. It leaves room for
	// those that users wait for.
	pace = 15 * time.Millisecond

	// spread is the time for all of them. However many there are, each is reconciled within a minute of a change.
	spread = 15 * time.Second
)

// New returns the action clients for the reconciler of one entry of the watches file, and adds what they run to mgr.
func New(mgr ctrl.Manager, watch watches.Watch, options Options) (*Clients, error) {
	chrt, err := render.NewChart(watch.Chart)
	if err != nil {
		return nil, err
	}
	chrt.Digest += fmt.Sprint(watch.OverrideValues) // fmt sorts keys
	apis, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	c := &Clients{
		Options: options, chart: chrt, cluster: mgr.GetClient(), memory: memory{entries: map[client.ObjectKey]*entry{}},
		now: time.Now, inventory: inventory.Reader{Cache: mgr.GetClient(), Live: mgr.GetAPIReader()},
		render: renderChart, recorded: recordedRevision, decision: plan.Decide, together: apply.Concurrently,
		cacheWait: cacheWait, goneWait: goneWait,
	}
	c.clusterOf = func(collector *unstructured.Unstructured) apply.Cluster {
		return apply.NewCluster(mgr.GetClient(), mgr.GetAPIReader(), collector)
	}
	c.recordsOf = func(r *actionClient) records {
		return &record.Records{
			Known: &r.records, Cluster: mgr.GetClient(), Live: mgr.GetAPIReader(), Collector: r.collector, Chart: chrt.Chart, Alone: c.Alone,
		}
	}
	c.watcher = &watcher{kind: watch.GroupVersionKind, dependents: *watch.WatchDependentResources, clients: c, mgr: mgr}
	offered := &render.Capabilities{
		Client: apis, Chart: chrt, Log: ctrl.Log.WithName("capabilities"), Follow: c.watcher.follow, Changed: c.watcher.changed,
	}
	c.capabilities = offered
	c.Waves.Fleet = c.watcher.collectors
	c.Waves.Requeue = func(collector client.Object) { c.Requeue(collector, 0) }
	c.Waves.Reset()
	if err := errors.Join(mgr.Add(offered), mgr.Add(c.Waves)); err != nil {
		return nil, fmt.Errorf("follow what the cluster offers, and the fleet: %w", err)
	}
	return c, nil
}

// Watch has the reconciler's controller follow the objects that the chart can render.
func (c *Clients) Watch(controller controller.Controller) error {
	w := c.watcher
	w.controller = controller
	for _, kind := range c.chart.Kinds {
		if err := w.watch(context.Background(), kind); err != nil {
			return err
		}
	}
	return nil
}

type watcher struct {
	kind       schema.GroupVersionKind // of Collectors
	dependents bool                    // a change of an object starts a reconcile
	clients    *Clients
	mgr        ctrl.Manager
	controller controller.Controller
}

// watch has the informer cache hold the objects of a kind, and the controller follow them. The chart says which
// kinds there are, so no object of a user decides how a kind is watched.
func (w *watcher) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	informer, err := w.mgr.GetCache().GetInformer(ctx, inventory.New(kind), cache.BlockUntilSynced(false))
	if err == nil {
		err = informer.AddIndexers(inventory.Indexers)
	}
	if err != nil {
		return fmt.Errorf("index %s by controller: %w", kind.Kind, err)
	}
	if !w.dependents {
		return nil
	}
	objects := source.Kind(w.mgr.GetCache(), inventory.New(kind), handler.EnqueueRequestsFromMapFunc(w.toCollector), inventory.News)
	if err := w.controller.Watch(objects); err != nil {
		return fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	return nil
}

// toCollector returns the Collector that controls an object, if the reconciler is for it.
func (w *watcher) toCollector(_ context.Context, object client.Object) []ctrl.Request {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != w.kind.Kind {
		return nil
	}
	collector := client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name}
	if w.clients.memory.find(collector, owner.UID) == nil {
		return nil
	}
	return []ctrl.Request{{NamespacedName: collector}}
}

// follow watches the objects of kinds that the cluster has got.
func (w *watcher) follow(ctx context.Context, kinds []schema.GroupVersionKind) {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	for _, kind := range kinds {
		if err := w.watch(ctx, kind); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot follow the objects of a kind that the cluster offers now")
		}
	}
}

// changed forgets the objects of kinds that the cluster no longer offers, and has each Collector reconciled.
func (w *watcher) changed(ctx context.Context, vanished []schema.GroupVersionKind) {
	for _, kind := range vanished {
		_ = w.mgr.GetCache().RemoveInformer(ctx, inventory.New(kind)) // fails only for what is no object
	}
	w.clients.Waves.Reset()
	collectors, err := w.collectors(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot reconcile each Collector now that the cluster offers something else")
		return
	}
	for i := range collectors {
		delay := time.Duration(i) * min(pace, spread/time.Duration(len(collectors)))
		w.clients.Requeue(&collectors[i], delay)
	}
}

// collectors returns the operator's Collectors as the informer cache has them.
func (w *watcher) collectors(ctx context.Context) ([]unstructured.Unstructured, error) {
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(w.kind.GroupVersion().WithKind(w.kind.Kind + "List"))
	if err := w.mgr.GetCache().List(ctx, collectors, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Collectors in the informer cache: %w", err)
	}
	return collectors.Items, nil
}
