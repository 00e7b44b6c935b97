package status

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// WatchPods has the reconciler of kind make a pass over a Collector whenever its workload or one of its pods has news
// for the status: the stock reconciler's own watches pass over changes of a status.
func WatchPods(mgr ctrl.Manager, kind schema.GroupVersionKind) reconciler.ControllerSetupFunc {
	return func(controller reconciler.ControllerSetup) error {
		owner := &unstructured.Unstructured{}
		owner.SetGroupVersionKind(kind)
		toOwner := handler.TypedEnqueueRequestForOwner[*unstructured.Unstructured](
			mgr.GetScheme(), mgr.GetRESTMapper(), owner, handler.OnlyControllerOwner())
		for _, gvk := range workloads {
			workload := &unstructured.Unstructured{}
			workload.SetGroupVersionKind(gvk)
			if err := controller.Watch(source.Kind(mgr.GetCache(), workload, toOwner, workloadNews)); err != nil {
				return fmt.Errorf("watch %s: %w", gvk.Kind, err)
			}
		}
		toCollector := handler.TypedEnqueueRequestsFromMapFunc(collectorOf)
		if err := controller.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, toCollector, podNews)); err != nil {
			return fmt.Errorf("watch pods: %w", err)
		}
		return nil
	}
}

// collectorOf returns the Collector that a pod's label names. There may be none: anybody can label a pod.
func collectorOf(_ context.Context, pod *corev1.Pod) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.CollectorLabel],
	}}}
}

var workloadNews = predicate.TypedFuncs[*unstructured.Unstructured]{
	CreateFunc:  func(event.TypedCreateEvent[*unstructured.Unstructured]) bool { return false },
	DeleteFunc:  func(event.TypedDeleteEvent[*unstructured.Unstructured]) bool { return false },
	GenericFunc: func(event.TypedGenericEvent[*unstructured.Unstructured]) bool { return false },
	UpdateFunc: func(e event.TypedUpdateEvent[*unstructured.Unstructured]) bool {
		return !sameReadiness(e.ObjectOld, e.ObjectNew)
	},
}

func sameReadiness(a, b *unstructured.Unstructured) bool {
	allA, readyA := pods(a)
	allB, readyB := pods(b)
	troublesA, troublesB := workloadTroubles(a), workloadTroubles(b)
	return allA == allB && readyA == readyB && slices.Equal(troublesA, troublesB) &&
		readinessOfWorkload(a, troublesA) == readinessOfWorkload(b, troublesB)
}

var podNews = predicate.TypedFuncs[*corev1.Pod]{
	CreateFunc:  func(e event.TypedCreateEvent[*corev1.Pod]) bool { return troubleOf(e.Object) != "" },
	DeleteFunc:  func(e event.TypedDeleteEvent[*corev1.Pod]) bool { return troubleOf(e.Object) != "" },
	GenericFunc: func(event.TypedGenericEvent[*corev1.Pod]) bool { return false },
	UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
		return troubleOf(e.ObjectOld) != troubleOf(e.ObjectNew)
	},
}
