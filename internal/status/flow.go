package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Flows say whether data flows through Collectors.
type Flows interface {
	// Condition returns what is known of a Collector, or nil if nothing is yet.
	Condition(collector client.Object) *v1alpha1.Condition

	// IsObserved tells whether that takes enough of its pods into account, as they were at that time or later.
	IsObserved(collector client.Object, since time.Time) bool

	// AreAwaited tells whether a change that the operator brings is on its way until data flows again.
	AreAwaited() bool
}

// describeFlow sets the condition DataFlowing, or removes it where the spec has no flow. Until something is known it stays.
func (w writer) describeFlow(collector *unstructured.Unstructured, before, after *v1alpha1.CollectorStatus) {
	unset(after, v1alpha1.DataFlowing)
	if _, has, _ := unstructured.NestedMap(collector.Object, "spec", "flow"); !has {
		return
	}
	if known := w.flows.Condition(collector); known != nil {
		set(after, *known)
	} else if old := find(before, v1alpha1.DataFlowing); old != nil {
		set(after, *old)
	}
}

// awaitsFlow tells whether data has flowed before a change that is on its way, and nobody knows yet that it still does.
func (w writer) awaitsFlow(collector *unstructured.Unstructured, before, after *v1alpha1.CollectorStatus) bool {
	is, pending := find(after, v1alpha1.DataFlowing), find(before, v1alpha1.UpdatePending)
	if !w.flows.AreAwaited() || is == nil || pending == nil || !wasBefore(before).DataFlowing {
		return false
	}
	if is.Status != corev1.ConditionTrue {
		return is.Reason == v1alpha1.ReasonAllDropped || is.Reason == v1alpha1.ReasonExportFails
	}
	since := pending.LastTransitionTime
	if ready := find(before, "Ready"); ready != nil && since.Before(&ready.LastTransitionTime) {
		since = ready.LastTransitionTime
	}
	return !w.flows.IsObserved(collector, since.Time)
}
