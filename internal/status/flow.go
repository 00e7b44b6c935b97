package status

import (
	"cmp"
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

	// Observed returns as of when that takes enough of its pods into account, or zero if it does not.
	Observed(collector client.Object) time.Time

	// AreAwaited tells whether a change that the operator brings is on its way until data flows again.
	AreAwaited() bool
}

// Flow is what is known of the data that flows through a Collector, see Flows.
type Flow struct {
	Known     *v1alpha1.Condition
	IsAwaited bool
	Observed  time.Time
}

// describeFlow sets the condition DataFlowing, or removes it where the spec has no flow. Until something is known it stays.
func (s *Seen) describeFlow(before, after *v1alpha1.CollectorStatus) {
	unset(after, v1alpha1.DataFlowing)
	if _, has, _ := unstructured.NestedMap(s.Collector.Object, "spec", "flow"); !has {
		return
	}
	if known := cmp.Or(s.Flow.Known, find(before, v1alpha1.DataFlowing)); known != nil {
		set(after, *known)
	}
}

// isAwaited tells whether data has flowed before a change that is on its way, and it is not known yet that it still does.
func (f Flow) isAwaited(before, after *v1alpha1.CollectorStatus) bool {
	is, pending := find(after, v1alpha1.DataFlowing), find(before, v1alpha1.UpdatePending)
	if !f.IsAwaited || is == nil || pending == nil || !wasBefore(before).DataFlowing {
		return false
	}
	if is.Status == corev1.ConditionFalse || is.Reason == v1alpha1.ReasonNoTraffic {
		return true
	}
	if !isTrue(before, "Ready") {
		return true // pods have just become ready, and what was observed, if anything, is of those before
	}
	since := pending.LastTransitionTime
	if ready := find(before, "Ready"); since.Before(&ready.LastTransitionTime) {
		since = ready.LastTransitionTime
	}
	return f.Observed.Before(since.Time)
}
