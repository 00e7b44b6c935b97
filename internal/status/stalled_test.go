package status_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/status"
)

func TestACollectorIsStalledWhileOnlyAChangeHelps(t *testing.T) {
	refused := func(err error) status.Outcome { return status.Outcome{Err: err} }
	for name, row := range map[string]struct {
		outcome status.Outcome
		want    string // the reason of Stalled, or ""
	}{
		"a configuration that is refused":                {refused(&configuration.Error{Field: "spec.f", Reason: "line 2"}), v1alpha1.ReasonConfigInvalid},
		"a Secret that is not there":                     {refused(&configuration.Error{Field: "spec.f", Missing: true}), v1alpha1.ReasonConfigMissing},
		"an object of another owner":                     {refused(&live.ConflictError{}), v1alpha1.ReasonConflict},
		"a quota":                                        {refused(apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("services").GroupResource(), "gateway", errors.New("exceeded quota"))), v1alpha1.ReasonReleaseFailed},
		"an API server that is not available":            {refused(apierrors.NewServiceUnavailable("starting")), ""},
		"an API server that did not answer in time":      {refused(apierrors.NewTimeoutError("late", 1)), ""},
		"a change that canary pods have failed to prove": {refused(&plan.CanaryError{}), v1alpha1.ReasonRolledBack},
		"canary pods that have failed, and stay":         {status.Outcome{Proof: "it died", Canary: &v1alpha1.CanaryStatus{Paused: "it died"}}, v1alpha1.ReasonCanaryPaused},
		"canary pods that prove a change":                {status.Outcome{Proof: "prove it until noon", Canary: &v1alpha1.CanaryStatus{}}, ""},
		"nothing":                                        {status.Outcome{}, ""},
	} {
		said := &v1alpha1.CollectorStatus{}
		if row.outcome.Err != nil {
			said.Conditions = []v1alpha1.Condition{{Type: "Irreconcilable", Status: corev1.ConditionTrue, Reason: "ReconcileError", Message: row.outcome.Err.Error()}}
		}
		seen := status.Seen{Collector: collector(t, "{}"), Outcome: row.outcome}
		got := ""
		for _, condition := range status.Next(seen, &v1alpha1.CollectorStatus{}, said).Conditions {
			if condition.Type == v1alpha1.Stalled && condition.Status == corev1.ConditionTrue {
				got = condition.Reason
			}
		}
		if got != row.want {
			t.Errorf("%s: stalled by %q, want %q", name, got, row.want)
		}
	}
}

func TestEachConditionHasAReason(t *testing.T) {
	said := &v1alpha1.CollectorStatus{}
	for _, each := range []string{"Initialized", "Deployed", "ReleaseFailed", "Irreconcilable", "Paused"} {
		said.Conditions = append(said.Conditions, v1alpha1.Condition{Type: each, Status: corev1.ConditionUnknown})
	}
	said.Conditions = append(said.Conditions, v1alpha1.Condition{Type: "Other", Status: corev1.ConditionFalse, Reason: "Given"})
	for _, condition := range status.Next(status.Seen{Collector: collector(t, "{}")}, &v1alpha1.CollectorStatus{}, said).Conditions {
		if condition.Reason == "" {
			t.Errorf("%s is %s without a reason", condition.Type, condition.Status)
		}
	}
}
