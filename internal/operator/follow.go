package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
)

const (
	// followTimeout is how long the watches of kinds that the cluster has got may take to begin.
	followTimeout = 10 * time.Second

	// syncTimeout is how long all reconciles wait for the objects of such kinds, once.
	syncTimeout = 5 * time.Second

	// pace is the time between the reconciles of two Collectors when the capabilities of the cluster have changed. It leaves room for
	// those that users wait for.
	pace = 15 * time.Millisecond

	// spread is the time for all of them. However many there are, each is reconciled within a minute of a change.
	spread = 15 * time.Second
)

// follower follows the objects that a chart can render, and the Collectors that it renders.
type follower struct {
	watches.Watch
	chart        *render.Chart
	capabilities *render.Capabilities
	mgr          ctrl.Manager
	waves        *rollout.Waves
	requeue      func(collector client.Object, after time.Duration)
	knows        func(collector client.ObjectKey, uid types.UID) bool // that the reconciler is for it
	controller   controller.Controller
	followed     map[schema.GroupVersionKind]bool // of those that not every cluster has
}

// newFollower returns what follows the objects of one entry of the watches file. It adds to mgr what follows the fleet, and the
// capabilities of the cluster.
func newFollower(
	mgr ctrl.Manager, watch watches.Watch, waves *rollout.Waves, requeue func(client.Object, time.Duration),
) (*follower, error) {
	chrt, err := render.NewChart(watch.Chart)
	if err != nil {
		return nil, err
	}
	chrt.Digest += fmt.Sprint(watch.OverrideValues) // fmt sorts keys
	apis, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	f := &follower{Watch: watch, chart: chrt, mgr: mgr, waves: waves, requeue: requeue, followed: map[schema.GroupVersionKind]bool{}}
	f.capabilities = &render.Capabilities{
		Client: apis, Chart: chrt, Log: ctrl.Log.WithName("capabilities"), Follow: f.follow, Changed: f.changed,
	}
	waves.Fleet, waves.Requeue = f.collectors, func(collector client.Object) { requeue(collector, 0) }
	waves.Reset()
	if err := errors.Join(mgr.Add(f.capabilities), mgr.Add(waves)); err != nil {
		return nil, fmt.Errorf("follow the capabilities of the cluster, and the fleet: %w", err)
	}
	return f, nil
}

// start has the controller follow the objects that the chart can render.
func (f *follower) start(c controller.Controller) error {
	f.controller = c
	for _, kind := range f.chart.Kinds {
		if _, err := f.watch(context.Background(), kind); err != nil {
			return err
		}
	}
	return nil
}

// watch has the informer cache hold the objects of a kind, and the controller follow them. The chart says which
// kinds there are, so no object of a user decides how a kind is watched.
func (f *follower) watch(ctx context.Context, kind schema.GroupVersionKind) (ctrlcache.Informer, error) {
	informer, err := f.mgr.GetCache().GetInformer(ctx, cache.New(kind), ctrlcache.BlockUntilSynced(false))
	if err == nil {
		err = informer.AddIndexers(cache.Indexers)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s by controller: %w", kind.Kind, err)
	}
	if !*f.WatchDependentResources {
		return informer, nil
	}
	objects := source.Kind(f.mgr.GetCache(), cache.New(kind), handler.EnqueueRequestsFromMapFunc(f.toCollector), live.News)
	if err := f.controller.Watch(objects); err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	return informer, nil
}

// toCollector returns the Collector that controls an object, if the reconciler is for it.
func (f *follower) toCollector(_ context.Context, object client.Object) []ctrl.Request {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != f.Kind {
		return nil
	}
	collector := client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name}
	if !f.knows(collector, owner.UID) {
		return nil
	}
	return []ctrl.Request{{NamespacedName: collector}}
}

// follow watches the objects of kinds that the cluster has got, unless it does so already. It waits until the informer cache has them,
// though not for long: an API may not answer.
func (f *follower) follow(ctx context.Context, kinds []schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	var failed error
	var begun []ctrlcache.Informer
	for _, kind := range kinds {
		if f.followed[kind] {
			continue
		}
		informer, err := f.watch(ctx, kind)
		if err != nil {
			failed = errors.Join(failed, err, f.mgr.GetCache().RemoveInformer(ctx, cache.New(kind)))
			continue
		}
		f.followed[kind], begun = true, append(begun, informer)
	}
	isLate := func(informer ctrlcache.Informer) bool { return !informer.HasSynced() }
	_ = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, syncTimeout, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(begun, isLate), nil // the reader waits for a late one by itself
	})
	return failed
}

// changed forgets the objects of kinds that the cluster no longer has, and has each Collector reconciled.
func (f *follower) changed(ctx context.Context, vanished []schema.GroupVersionKind) {
	for _, kind := range vanished {
		delete(f.followed, kind)
		_ = f.mgr.GetCache().RemoveInformer(ctx, cache.New(kind)) // fails only for what is no object
	}
	f.waves.Reset()
	f.requeueAll(f.concerned(ctx, func(*unstructured.Unstructured) bool { return true }))
}

// basesChanged has each Collector reconciled that a change of bases concerns. The change is the operator's.
func (f *follower) basesChanged(ctx context.Context, concerns func(*unstructured.Unstructured) bool) {
	collectors := f.concerned(ctx, concerns)
	f.waves.Expect(collectors)
	f.requeueAll(collectors)
}

// concerned returns the Collectors that a change concerns.
func (f *follower) concerned(ctx context.Context, concerns func(*unstructured.Unstructured) bool) (found []*unstructured.Unstructured) {
	collectors, err := f.collectors(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot reconcile the Collectors that a change of the cluster concerns")
	}
	for i := range collectors {
		if concerns(&collectors[i]) {
			found = append(found, &collectors[i])
		}
	}
	return found
}

func (f *follower) requeueAll(collectors []*unstructured.Unstructured) {
	for i, collector := range collectors {
		f.requeue(collector, time.Duration(i)*min(pace, spread/time.Duration(len(collectors))))
	}
}

// collectors returns the operator's Collectors as the informer cache has them.
func (f *follower) collectors(ctx context.Context) ([]unstructured.Unstructured, error) {
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(f.GroupVersion().WithKind(f.Kind + "List"))
	if err := f.mgr.GetCache().List(ctx, collectors, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Collectors in the informer cache: %w", err)
	}
	return collectors.Items, nil
}
