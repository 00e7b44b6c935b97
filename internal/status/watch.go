package status

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// WatchPods has the reconciler of kind make a pass over a Collector whenever its workload or one of its pods has news
// for the status: the stock reconciler's own watches pass over changes of a status. chosen says which Collectors the
// reconciler is for.
func WatchPods(mgr ctrl.Manager, kind schema.GroupVersionKind, chosen *metav1.LabelSelector) reconciler.ControllerSetupFunc {
	return func(controller reconciler.ControllerSetup) error {
		selector, err := metav1.LabelSelectorAsSelector(chosen)
		if err != nil {
			return fmt.Errorf("read the watch's selector: %w", err)
		}
		find := collectors{reader: mgr.GetCache(), kind: kind, chosen: selector}
		for _, gvk := range workloads {
			workload := &unstructured.Unstructured{}
			workload.SetGroupVersionKind(gvk)
			toCollector := handler.TypedEnqueueRequestsFromMapFunc(
				func(ctx context.Context, obj *unstructured.Unstructured) []reconcile.Request {
					return find.of(ctx, obj)
				})
			if err := controller.Watch(source.Kind(mgr.GetCache(), workload, toCollector, workloadNews)); err != nil {
				return fmt.Errorf("watch %s: %w", gvk.Kind, err)
			}
		}
		toCollector := handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, pod *corev1.Pod) []reconcile.Request { return find.of(ctx, pod) })
		if err := controller.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, toCollector, podNews)); err != nil {
			return fmt.Errorf("watch pods: %w", err)
		}
		return nil
	}
}

// collectors finds the Collectors to which objects belong.
type collectors struct {
	reader client.Reader
	kind   schema.GroupVersionKind
	chosen labels.Selector
}

// of returns the Collector that obj's label names, if there is one: anybody can label a pod.
func (c collectors) of(ctx context.Context, obj client.Object) []reconcile.Request {
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetLabels()[v1alpha1.CollectorLabel]}
	collector := &unstructured.Unstructured{}
	collector.SetGroupVersionKind(c.kind)
	err := c.reader.Get(ctx, key, collector, client.UnsafeDisableDeepCopy)
	if err != nil || !c.chosen.Matches(labels.Set(collector.GetLabels())) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
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
