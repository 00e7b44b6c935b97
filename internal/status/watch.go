package status

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// WatchPods has a controller reconcile a Collector, which is of kind, whenever its workload or one of its pods has news for the
// status, or a pod has gone.
func WatchPods(mgr ctrl.Manager, controller controller.Controller, kind schema.GroupVersionKind) error {
	paced := newPacer(func(ctx context.Context, key client.ObjectKey) bool {
		collector := &unstructured.Unstructured{}
		collector.SetGroupVersionKind(kind)
		return mgr.GetCache().Get(ctx, key, collector, client.UnsafeDisableDeepCopy) == nil
	})
	forget := manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(context.Context) { paced.delays.GC() }, longest)
		return nil
	})
	if err := mgr.Add(forget); err != nil {
		return fmt.Errorf("forget the delays of Collectors that are calm: %w", err)
	}
	for mode, workload := range workloads {
		if err := controller.Watch(source.Kind(mgr.GetCache(), workload(), reconcilesFor(paced, workloadUrgency), workloadNews)); err != nil {
			return fmt.Errorf("watch the workloads of mode %s: %w", mode, err)
		}
	}
	if err := controller.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, reconcilesFor(paced, podUrgency), podNews)); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	return nil
}

// reconcilesFor returns a handler that asks for reconciles of the objects' Collectors. urgent says how soon they should begin.
func reconcilesFor[object client.Object](
	paced *pacer, urgent func(before, after object) urgency,
) handler.TypedEventHandler[object, reconcile.Request] {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.TypedFuncs[object, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[object], q queue) {
			paced.ask(ctx, q, collectorOf(e.Object), detail)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[object], q queue) {
			paced.ask(ctx, q, collectorOf(e.Object), detail)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[object], q queue) {
			paced.ask(ctx, q, collectorOf(e.ObjectNew), urgent(e.ObjectOld, e.ObjectNew))
		},
	}
}

// collectorOf returns the Collector that runs a pod, by its label, or that a workload has its name from. It need not exist:
// anybody can label a pod.
func collectorOf(obj client.Object) reconcile.Request {
	name := obj.GetName()
	if _, isPod := obj.(*corev1.Pod); isPod {
		name = obj.GetLabels()[v1alpha1.CollectorLabel]
	}
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}}
}

var workloadNews = predicate.TypedFuncs[client.Object]{
	CreateFunc:  func(event.TypedCreateEvent[client.Object]) bool { return false },
	DeleteFunc:  func(event.TypedDeleteEvent[client.Object]) bool { return false },
	GenericFunc: func(event.TypedGenericEvent[client.Object]) bool { return false },
	UpdateFunc: func(e event.TypedUpdateEvent[client.Object]) bool {
		return !sameReadiness(e.ObjectOld, e.ObjectNew)
	},
}

func sameReadiness(before, after client.Object) bool {
	a, b := workloadOf(before), workloadOf(after)
	return a.all == b.all && a.ready == b.ready && slices.Equal(a.troubles, b.troubles) && a.readiness(a.troubles) == b.readiness(b.troubles)
}

func workloadUrgency(before, after client.Object) urgency {
	switch {
	case before.GetGeneration() != after.GetGeneration():
		return change
	case workloadOf(before).readiness(nil).status != workloadOf(after).readiness(nil).status:
		return turn
	}
	return detail
}

var podNews = predicate.TypedFuncs[*corev1.Pod]{
	// The pods that are there at the start are seen by the reconciles that the start brings.
	CreateFunc: func(e event.TypedCreateEvent[*corev1.Pod]) bool {
		return !e.IsInInitialList && troubleOf(e.Object) != ""
	},
	// Objects that a pod used can be pruned when it has gone.
	DeleteFunc:  func(event.TypedDeleteEvent[*corev1.Pod]) bool { return true },
	GenericFunc: func(event.TypedGenericEvent[*corev1.Pod]) bool { return false },
	UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
		return troubleOf(e.ObjectOld) != troubleOf(e.ObjectNew)
	},
}

func podUrgency(*corev1.Pod, *corev1.Pod) urgency { return detail }
