package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/history"
)

// longestMessage is how many bytes of a message a condition has: a webhook may refuse with a text that fits into no status.
const longestMessage = 4096

// paused is the stock reconciler's condition of a Collector whose spec the operator does not follow for now.
const paused = "Paused"

// Seen is all that the next status is computed from, beside the one before and what the stock reconciler says.
type Seen struct {
	Collector *unstructured.Unstructured
	Now       metav1.Time
	Outcome   Outcome
	Flow      Flow

	// Workload runs the Collector's pods, or is nil. Troubles are what keeps these from serving.
	Workload *Workload
	Troubles []string

	// Presets is the condition PresetsReady, or nil if no preset needs anything of the API server. It is not looked at of a paused
	// Collector.
	Presets *v1alpha1.Condition
}

// Next returns the next status of a Collector. said is what the stock reconciler would write in place of before; it is changed.
func Next(seen Seen, before, said *v1alpha1.CollectorStatus) *v1alpha1.CollectorStatus {
	after := said
	if isTrue(said, paused) {
		after = before.DeepCopy() // the reconciler would say that it knows nothing any more
		set(after, *find(said, paused))
	} else {
		describePause(seen.Collector, after)
		describeRelease(seen.Collector.GetName(), before, after, seen.Outcome.Deployed)
		describeFailure(before, after)
		describeCanary(before, after, seen.Outcome)
		after.ObservedGeneration = seen.Collector.GetGeneration()
		after.RefusedObject = apply.RefusedIn(seen.Outcome.Err)
		if unset(after, v1alpha1.PresetsReady); seen.Presets != nil {
			set(after, *seen.Presets)
		}
	}
	after.Replicas, after.ReadyReplicas = before.Replicas, 0 // a deleted workload gets as many pods again
	if seen.Workload != nil {
		after.Replicas, after.ReadyReplicas = seen.Workload.All, seen.Workload.Ready
	}
	ready := seen.readiness(after)
	set(after, v1alpha1.Condition{Type: "Ready", Status: ready.status, Reason: ready.reason, Message: ready.message})
	seen.describeStalled(after)
	seen.describeFlow(before, after)
	describeUpdate(before, after, seen.Outcome, seen.Flow.isAwaited(before, after))
	for i, condition := range after.Conditions {
		if len(condition.Message) > longestMessage {
			after.Conditions[i].Message = strings.ToValidUTF8(condition.Message[:longestMessage], "") + "…"
		}
	}
	giveReasons(after)
	setTransitionTimes(before, after, seen.Now)
	if isTurn(before) && isTurn(after) { // a change that is refused and tried again has no more time
		find(after, v1alpha1.UpdatePending).LastTransitionTime = find(before, v1alpha1.UpdatePending).LastTransitionTime
	}
	if update := find(after, v1alpha1.UpdatePending); update != nil && isTrue(before, paused) && !isTrue(after, paused) {
		update.LastTransitionTime = seen.Now // it has had no time to become ready
	}
	return after
}

// describeRelease says what is deployed: what was deployed or, as long as none did, what the status says. The stock reconciler does not
// say it of a Collector that cannot be rendered, and a revision may just have been recorded late.
func describeRelease(name string, before, after *v1alpha1.CollectorStatus, deployed history.Deployed) {
	after.DeployedRelease, after.Version, after.ConfigHash = before.DeployedRelease, before.Version, before.ConfigHash
	after.Bases, after.History = before.Bases, before.History
	if deployed.Revision != 0 {
		after.DeployedRelease = &v1alpha1.DeployedRelease{
			Name: name, Revision: int64(deployed.Revision), Generation: deployed.Generation, Digest: deployed.Digest, Template: deployed.Template,
		}
		after.History = deployed.History
		after.Version, after.ConfigHash, after.Bases = deployed.Version, deployed.ConfigHash, strings.Fields(deployed.Bases)
	}
	condition := find(after, "Deployed")
	switch {
	case condition == nil:
	case condition.Status == "True" && after.DeployedRelease == nil:
		// The reconciler takes any release for a deployed one, also one whose installation failed.
		condition.Status, condition.Reason, condition.Message = "False", "", ""
	case condition.Status == "Unknown" && find(before, "Deployed") != nil:
		// A release stays deployed when the reconciler cannot process a new spec.
		*condition = *find(before, "Deployed")
	}
}

// describeFailure says of a reconcile that failed that the release has failed: the stock reconciler, which leaves all of it to Reconcile,
// knows of no release that is asked for, and says only Irreconcilable.
func describeFailure(before, after *v1alpha1.CollectorStatus) {
	irreconcilable := find(after, "Irreconcilable")
	isUninstall := isTrue(after, "ReleaseFailed")
	if irreconcilable == nil || irreconcilable.Reason != "ReconcileError" || isUninstall {
		return
	}
	reason := "UpgradeError"
	if before.DeployedRelease == nil {
		reason = "InstallError"
	}
	set(after, v1alpha1.Condition{Type: "ReleaseFailed", Status: irreconcilable.Status, Reason: reason, Message: irreconcilable.Message})
}
