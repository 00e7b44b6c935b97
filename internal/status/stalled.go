package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
)

// stalls are reasons of Ready that only a change of the Collector, or of what it refers to, ends.
var stalls = []string{
	v1alpha1.ReasonConfigInvalid, v1alpha1.ReasonConfigMissing, v1alpha1.ReasonConflict, v1alpha1.ReasonRolledBack,
	v1alpha1.ReasonCanaryPaused,
}

// describeStalled sets the condition Stalled while the operator cannot go on by itself, and removes it otherwise. Tools that know no more
// of a Collector than kstatus (sigs.k8s.io/cli-utils) take it for a failure, and wait while Ready alone is False.
func (s *Seen) describeStalled(after *v1alpha1.CollectorStatus) {
	unset(after, v1alpha1.Stalled)
	ready := find(after, "Ready")
	isRefused := ready.Reason == v1alpha1.ReasonReleaseFailed && apply.Stays(s.Outcome.Err)
	if isRefused || slices.Contains(stalls, ready.Reason) {
		set(after, v1alpha1.Condition{Type: v1alpha1.Stalled, Status: corev1.ConditionTrue, Reason: ready.Reason, Message: ready.Message})
	}
}

// reasons are those of the stock reconciler's conditions that it gives none, by type and status. Kubernetes demands a reason.
var reasons = map[string]string{
	"Initialized True":     "Initialized",
	"Deployed False":       "NotDeployed",
	"ReleaseFailed False":  "Succeeded",
	"Irreconcilable False": "Reconciled",
	"Paused False":         "NotPaused",
}

// giveReasons gives each condition without a reason one.
func giveReasons(after *v1alpha1.CollectorStatus) {
	for i := range after.Conditions {
		condition := &after.Conditions[i]
		switch {
		case condition.Reason != "":
		case condition.Status == corev1.ConditionUnknown:
			condition.Reason = "NotKnown"
		default:
			condition.Reason = reasons[condition.Type+" "+string(condition.Status)]
		}
	}
}
