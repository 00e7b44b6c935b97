package reconcile

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/status"
)

// simState is the status of a Collector.
type simState struct {
	v1alpha1.CollectorStatus
	verdict plan.Verdict // which no status has
}

func (s simState) String() string {
	return fmt.Sprintf("revision %d, %s, Ready %t %s, update %q", s.revision(), s.verdict, s.ready(), s.is("Ready").Reason, s.update())
}

// is returns a condition, which is empty if there is none.
func (s simState) is(conditionType string) (found v1alpha1.Condition) {
	for _, condition := range s.Conditions {
		if condition.Type == conditionType {
			found = condition
		}
	}
	return found
}

func (s simState) ready() bool { return s.is("Ready").Status == corev1.ConditionTrue }

func (s simState) failed() bool { return s.is("Irreconcilable").Status == corev1.ConditionTrue }

// update returns the reason of UpdatePending, or nothing.
func (s simState) update() string { return s.is(v1alpha1.UpdatePending).Reason }

func (s simState) deployed() v1alpha1.DeployedRelease {
	if s.DeployedRelease == nil {
		return v1alpha1.DeployedRelease{}
	}
	return *s.DeployedRelease
}

func (s simState) revision() int64 { return s.deployed().Revision }

// stock returns the status as the stock reconciler would write it (helm-operator-plugins, pkg/reconciler/reconciler.go).
func (s *simSpace) stock(isPaused bool, err error) *v1alpha1.CollectorStatus {
	said := &v1alpha1.CollectorStatus{Conditions: slices.Clone(s.state.Conditions)}
	say := func(conditionType string, status corev1.ConditionStatus, reason, message string) {
		said.Conditions = slices.DeleteFunc(said.Conditions, func(c v1alpha1.Condition) bool { return c.Type == conditionType })
		said.Conditions = append(said.Conditions, v1alpha1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(s.world.now),
		})
	}
	if isPaused {
		say("Paused", corev1.ConditionTrue, "PauseReconcileAnnotationTrue", "")
		return said
	}
	say("Paused", corev1.ConditionFalse, "", "")
	say("ReleaseFailed", corev1.ConditionFalse, "", "")
	say("Irreconcilable", corev1.ConditionFalse, "", "")
	switch {
	case err == nil:
		say("Deployed", corev1.ConditionTrue, "UpgradeSuccessful", "")
	case s.deleting:
		say("ReleaseFailed", corev1.ConditionTrue, "UninstallError", err.Error())
		fallthrough
	default:
		say("Irreconcilable", corev1.ConditionTrue, "ReconcileError", err.Error())
	}
	slices.SortFunc(said.Conditions, func(a, b v1alpha1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return said
}

// writeStatus writes the next status. It tells whether that says that it is the Collector's turn: nothing else in a status starts a
// reconcile.
func (s *simSpace) writeStatus(
	collector *unstructured.Unstructured, said *v1alpha1.CollectorStatus, outcome status.Outcome,
) (isTurn bool, lost error) {
	before, after := s.state, s.state
	after.CollectorStatus = *status.Next(status.Seen{
		Collector: collector, Now: metav1.NewTime(s.world.now).Rfc3339Copy(), Outcome: outcome, Workload: s.workloadSeen(),
	}, &before.CollectorStatus, said)
	s.state.verdict, after.verdict = outcome.Verdict, outcome.Verdict
	s.world.tellsChange(after)
	s.tellsRefusal(after)
	if equality.Semantic.DeepEqual(before.CollectorStatus, after.CollectorStatus) {
		s.observe(outcome)
		return false, nil
	}
	isRolling, wasRolling := rollout.IsTurn(after.update()), rollout.IsTurn(before.update())
	s.isNow = s.rollout == v1alpha1.RolloutNow || s.isNow && isRolling // also if only the write that says so was lost
	s.waved = s.waved || after.update() != ""
	effect, lost := s.request("write the status: %s, %q", after, after.is("Ready").Message)
	if effect {
		s.world.told++
		if isRolling && !wasRolling {
			s.rollsOut()
		}
		s.state, s.said = after, nil
		s.observe(outcome)
	}
	return effect && isRolling && !wasRolling, lost
}

// workloadSeen returns what the informer cache has of the wanted workload, or nil.
func (s *simSpace) workloadSeen() *status.Workload {
	found := s.workload()
	if found == nil {
		return nil
	}
	of := found.status
	return &status.Workload{Pods: live.Pods{
		Behind: of.behind, Wanted: int32(of.wanted), Updated: int32(of.updated), Available: int32(of.ready), All: int32(s.looked),
		Ready: int32(of.ready),
	}}
}
