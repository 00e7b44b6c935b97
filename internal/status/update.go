package status

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// describeUpdate says where a change is that the operator brings. It is on its way from before it is applied until the
// Collector is ready with it and, if that counts, data flows. A Collector that was not ready before the change is not waited for. The
// change of a base that is refused reaches no Collector.
func describeUpdate(before, after *v1alpha1.CollectorStatus, outcome Outcome, awaitsFlow bool) {
	after.BeforeUpdate = before.BeforeUpdate
	awaits := wasBefore(before).Ready && (!isTrue(after, "Ready") || awaitsFlow)
	switch {
	case isTrue(after, "Paused"):
	case outcome.Update != nil:
		set(after, *outcome.Update)
		describeTurn(before, after, outcome)
	case isTurn(before) && (awaits || provingIn(after) != "" || outcome.Verdict.Tests()): // also if it was refused before
		if isTurn(after) {
			set(after, *rollout.RollingOut())
		}
	case !isTurn(before) && apply.IsPassing(outcome.Err): // it tells nothing new, and the stock reconciler keeps the condition
	default:
		unset(after, v1alpha1.UpdatePending)
		after.BeforeUpdate = nil
		if outcome.Refused != "" {
			set(after, v1alpha1.Condition{
				Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonBaseRefused, Message: outcome.Refused,
			})
		}
	}
}

// describeTurn says what was true before the Collector's turn came, and why the change is refused then. A hold can take the turn away:
// then what was true before its first turn counts, too, for a change may have broken the Collector since.
func describeTurn(before, after *v1alpha1.CollectorStatus, outcome Outcome) {
	if isTurn(after) && !isTurn(before) {
		first := cmp.Or(before.BeforeUpdate, &v1alpha1.BeforeUpdate{})
		after.BeforeUpdate = &v1alpha1.BeforeUpdate{
			Ready: first.Ready || isTrue(before, "Ready"), DataFlowing: first.DataFlowing || isTrue(before, v1alpha1.DataFlowing),
		}
	}
	if outcome.isRefused() {
		find(after, v1alpha1.UpdatePending).Message = failure(outcome.Err, outcome.Err.Error()).message
	}
}

func isTurn(status *v1alpha1.CollectorStatus) bool {
	condition := find(status, v1alpha1.UpdatePending)
	return condition != nil && rollout.IsTurn(condition.Reason)
}

// wasBefore returns what was true before the change that is on its way. The field is missing where an operator of an earlier version wrote
// the status. Then all is taken to have been true: at worst, the change waits until --rollout-deadline for a Collector that was not ready
// before.
func wasBefore(status *v1alpha1.CollectorStatus) v1alpha1.BeforeUpdate {
	if status.BeforeUpdate == nil {
		return v1alpha1.BeforeUpdate{Ready: true, DataFlowing: true}
	}
	return *status.BeforeUpdate
}
