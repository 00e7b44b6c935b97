package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// controllerIndex is the name of the informer cache's index from a Collector to what it controls.
	controllerIndex = "controller"

	// fieldIndex precedes the name in the index that a cache of controller-runtime looks into for client.MatchingFields.
	fieldIndex = "field:"

	// pace is the time between the reconciles of two Collectors when the cluster offers something else. It leaves room for
	// those that users wait for.
	pace = 15 * time.Millisecond

	// spread is the time for all of them. However many there are, each is reconciled within a minute of a change.
	spread = 15 * time.Second
)

// New returns the action clients for the reconciler of one entry of the watches file, and adds what they run to mgr.
func New(mgr ctrl.Manager, watch watches.Watch, options Options) (*Clients, error) {
	chrt, err := NewChart(watch.Chart)
	if err != nil {
		return nil, err
	}
	chrt.digest += fmt.Sprint(watch.OverrideValues) // fmt sorts keys
	apis, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	c := &Clients{Options: options, chart: chrt, cluster: mgr.GetClient(), live: mgr.GetAPIReader(), queue: newQueue()}
	c.memory.entries = map[client.ObjectKey]*entry{}
	c.watcher = &watcher{kind: watch.GroupVersionKind, dependents: *watch.WatchDependentResources, clients: c, mgr: mgr}
	c.offers = &offers{client: apis, chart: chrt, log: ctrl.Log.WithName("offers"), follow: c.watcher.follow, changed: c.watcher.changed}
	c.Waves.Fleet = c.watcher.collectors
	c.Waves.Requeue = func(collector client.Object) { c.queue.after(collector, 0) }
	c.Waves.Reset()
	if err := errors.Join(mgr.Add(c.offers), mgr.Add(c.Waves)); err != nil {
		return nil, fmt.Errorf("follow what the cluster offers, and the fleet: %w", err)
	}
	return c, nil
}

// Watch has the reconciler's controller follow the objects that the chart can render; it is for
// reconciler.WithControllerSetupFunc.
func (c *Clients) Watch(controller reconciler.ControllerSetup) error {
	w := c.watcher
	w.controller = controller
	for _, kind := range c.chart.kinds {
		if err := w.watch(context.Background(), kind); err != nil {
			return err
		}
	}
	return c.queue.setup(controller)
}

type watcher struct {
	kind       schema.GroupVersionKind // of Collectors
	dependents bool                    // a change of an object starts a reconcile
	clients    *Clients
	mgr        ctrl.Manager
	controller reconciler.ControllerSetup
}

// watch has the informer cache hold the objects of a kind, and the controller follow them. The chart says which
// kinds there are, so no object of a user decides how a kind is watched.
func (w *watcher) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	informer, err := w.mgr.GetCache().GetInformer(ctx, objectOf(kind), cache.BlockUntilSynced(false))
	if err == nil {
		err = informer.AddIndexers(toolscache.Indexers{fieldIndex + controllerIndex: byController})
	}
	if err != nil {
		return fmt.Errorf("index %s by controller: %w", kind.Kind, err)
	}
	if !w.dependents {
		return nil
	}
	objects := source.Kind(w.mgr.GetCache(), objectOf(kind), handler.EnqueueRequestsFromMapFunc(w.toCollector), news)
	if err := w.controller.Watch(objects); err != nil {
		return fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	return nil
}

// byController returns the keys of an object as client.IndexField would, except the one for lists of all namespaces, which
// nobody asks for. Each key takes memory for each object.
func byController(in any) ([]string, error) {
	object, ok := in.(client.Object)
	if !ok {
		return nil, fmt.Errorf("a %T has no controller", in)
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{shared(object.GetNamespace() + "/" + string(owner.UID))}, nil
	}
	return nil, nil
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

// news passes over changes that concern neither what the operator applied, nor whose an object is, nor the end of a check.
var news = predicate.Funcs{
	CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return sightOf(e.ObjectOld).digest != sightOf(e.ObjectNew).digest || !metav1.IsControlledBy(e.ObjectNew, ownerUID(e.ObjectOld)) ||
			ended(e.ObjectOld).Type != ended(e.ObjectNew).Type ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	},
}

func ownerUID(object client.Object) metav1.Object {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return &metav1.ObjectMeta{}
	}
	return &metav1.ObjectMeta{UID: owner.UID}
}

// follow watches the objects of kinds that the cluster offers now.
func (w *watcher) follow(ctx context.Context, kinds []schema.GroupVersionKind) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
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
		_ = w.mgr.GetCache().RemoveInformer(ctx, objectOf(kind)) // fails only for what is no object
	}
	w.clients.Waves.Reset()
	collectors, err := w.collectors(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot reconcile each Collector now that the cluster offers something else")
		return
	}
	for i := range collectors {
		delay := time.Duration(i) * min(pace, spread/time.Duration(len(collectors)))
		w.clients.queue.after(&collectors[i], delay)
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
