package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/plan"
)

// describeCanary says which change canary pods prove, or have failed to prove, until another one is deployed.
func describeCanary(before, after *v1alpha1.CollectorStatus, outcome Outcome) {
	after.Canary = before.Canary
	if outcome.Err == nil && isDeployed(outcome.Verdict) {
		after.Canary = nil
	}
	if outcome.Canary != nil {
		after.Canary = outcome.Canary
	}
}

// isDeployed tells whether a reconcile that ended so has left what is wanted.
func isDeployed(verdict plan.Verdict) bool {
	switch verdict {
	case plan.InSync, plan.Drifted, plan.Install, plan.Upgrade:
		return true
	case plan.Deferred, plan.Checking, plan.Proving, plan.Refused, plan.Uninstalling:
	}
	return false
}

// announceCanary tells that a change has begun to prove itself, that it waits for a user, or that it is proven. A failure has its event
// from the condition.
func (w writer) announceCanary(collector *unstructured.Unstructured, before, after *v1alpha1.CollectorStatus, isProven bool) {
	was, is := provingIn(before), provingIn(after)
	if is != "" && is != was {
		w.events.Eventf(collector, corev1.EventTypeNormal, "CanaryStarted", "canary pods have to prove change %s", is)
	}
	if is != "" && after.Canary.Proven && (is != was || !before.Canary.Proven) {
		w.events.Eventf(collector, corev1.EventTypeNormal, "AwaitsApproval",
			"canary pods have proven change %s, which waits until you promote it: kubectl collector promote %s", is, collector.GetName())
	}
	if isProven && before.Canary != nil && after.Canary == nil {
		w.events.Eventf(collector, corev1.EventTypeNormal, "Proven", "canary pods have proven change %s, and all pods get it", before.Canary.Hash)
	}
}

// provingIn returns the hash of the change that proves itself, or nothing.
func provingIn(status *v1alpha1.CollectorStatus) string {
	if status.Canary == nil || status.Canary.RolledBack != "" {
		return ""
	}
	return status.Canary.Hash
}
