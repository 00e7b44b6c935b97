package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	"github.com/kube8/kube8-operator/internal/live"
)

// News passes over changes of a Collector that are only in its status, which the operator has written. So a status that says something else
// after each attempt, such as the words of a webhook, brings no attempt before its time. Two such changes do start a reconcile: it is
// the Collector's turn to take a change that the operator brings, or a role of its presets is missing, which the operator then asks for
// again.
var News = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := conditionOf(e.ObjectOld, v1alpha1.UpdatePending).Reason, conditionOf(e.ObjectNew, v1alpha1.UpdatePending).Reason
	isTurn := after == v1alpha1.ReasonRollingOut && before != after
	asks := conditionOf(e.ObjectOld, v1alpha1.PresetsReady).Status != conditionOf(e.ObjectNew, v1alpha1.PresetsReady).Status
	return isTurn || asks || !equality.Semantic.DeepEqual(metadataOf(e.ObjectOld), metadataOf(e.ObjectNew))
}}

// conditionOf returns a condition of a Collector, which is empty if there is none.
func conditionOf(object client.Object, conditionType string) v1alpha1.Condition {
	if collector, is := object.(*unstructured.Unstructured); is {
		return v1alpha1.ConditionOf(collector, conditionType)
	}
	return v1alpha1.Condition{}
}

// metadataOf returns what tells versions of a Collector apart that differ by more than the status.
func metadataOf(collector client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		UID: collector.GetUID(), Generation: collector.GetGeneration(), DeletionTimestamp: collector.GetDeletionTimestamp(),
		Labels: collector.GetLabels(), Annotations: collector.GetAnnotations(), Finalizers: collector.GetFinalizers(),
	}
}

// WatchPods has a controller reconcile a Collector whenever its workload or one of its pods has news for the status, or a pod has
// gone. exists says whether the operator has a Collector of that name to look after.
func WatchPods(mgr ctrl.Manager, controller controller.Controller, exists func(context.Context, client.ObjectKey) bool) error {
	paced := newPacer(exists)
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(context.Context) { paced.delays.GC() }, longest) // of Collectors that are calm
		return nil
	}))
	for _, workload := range workloads {
		err = errors.Join(err, controller.Watch(source.Kind(mgr.GetCache(), workload(), paced.workloadNews())))
	}
	if err = errors.Join(err, controller.Watch(source.Kind(mgr.GetCache(), &corev1.Pod{}, paced.podNews()))); err != nil {
		return fmt.Errorf("watch workloads and pods: %w", err)
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// workloadNews returns the handler of changes of workloads, which have the name of their Collector.
func (p *pacer) workloadNews() handler.Funcs {
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
		before, after := workloadOf(e.ObjectOld), workloadOf(e.ObjectNew)
		urgent := detail
		switch {
		case before.saysTheSame(after):
			return
		case e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration():
			urgent = change
		case before.readiness(nil).status != after.readiness(nil).status:
			urgent = turn
		}
		p.ask(ctx, q, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}, urgent)
	}}
}

func (w *Workload) saysTheSame(as *Workload) bool {
	return w.All == as.All && w.Ready == as.Ready && slices.Equal(w.troubles, as.troubles) &&
		w.readiness(w.troubles) == as.readiness(as.troubles)
}

// podNews returns the handler of changes of pods, which have the name of their Collector in a label. It need not exist: anybody
// can label a pod.
func (p *pacer) podNews() handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	ask := func(ctx context.Context, q queue, pod *corev1.Pod) {
		collector := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.CollectorLabel]}
		p.ask(ctx, q, reconcile.Request{NamespacedName: collector}, detail)
	}
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		// The pods that are there at the start are seen by the reconciles that the start brings.
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if !e.IsInInitialList && troubleOf(e.Object) != "" {
				ask(ctx, q, e.Object)
			}
		},
		// Objects that a pod used can be pruned when it has gone.
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			ask(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			if troubleOf(e.ObjectOld) != troubleOf(e.ObjectNew) || !live.ProvesTheSame(e.ObjectOld, e.ObjectNew) {
				ask(ctx, q, e.ObjectNew)
			}
		},
	}
}
