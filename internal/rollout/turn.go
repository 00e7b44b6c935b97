package rollout

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// RollingOut returns the condition of a Collector whose turn has come.
func RollingOut() *v1alpha1.Condition {
	return &v1alpha1.Condition{
		Type: v1alpha1.UpdatePending, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRollingOut,
		Message: "the operator's change is on its way to the pods",
	}
}

// Refused returns the condition of a Collector whose turn has come, but the operator's change is refused. The status adds why.
func Refused() *v1alpha1.Condition {
	return &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonRefused}
}

// IsTurn tells by the reason of the condition UpdatePending whether a Collector's turn has come: it takes a place of the budget, and takes
// a corrected change at once.
func IsTurn(reason string) bool {
	return reason == v1alpha1.ReasonRollingOut || reason == v1alpha1.ReasonRefused
}

// IsOnItsWay tells by the status whether a Collector's turn has come.
func IsOnItsWay(collector *unstructured.Unstructured) bool {
	return IsTurn(v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason)
}

// HasFailed tells whether a change is refused or canary pods have failed to prove it, by the reasons of a Collector's conditions
// UpdatePending and Ready. If the Collector is on its way with the operator's change, it is overdue then, before the deadline.
func HasFailed(update, ready string) bool {
	return update == v1alpha1.ReasonRefused || ready == v1alpha1.ReasonRolledBack || ready == v1alpha1.ReasonCanaryPaused
}

func hasFailed(collector *unstructured.Unstructured) bool {
	return HasFailed(v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason, v1alpha1.ConditionOf(collector, "Ready").Reason)
}
