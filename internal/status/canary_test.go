package status

import (
	"errors"
	"testing"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/plan"
)

func TestTheStatusRemembersAChangeUntilAnotherOneIsDeployed(t *testing.T) {
	proving, rolledBack := &v1alpha1.CanaryStatus{Hash: "a"}, &v1alpha1.CanaryStatus{Hash: "a", RolledBack: "it died"}
	for name, row := range map[string]struct {
		before  *v1alpha1.CanaryStatus
		outcome Outcome
		want    *v1alpha1.CanaryStatus
	}{
		"a change that begins to prove itself is told": {nil, Outcome{Verdict: plan.Proving, Canary: proving}, proving},
		"a change that failed is told":                 {proving, Outcome{Verdict: plan.Refused, Canary: rolledBack, Err: errors.New("it died")}, rolledBack},
		"an operator that starts keeps it":             {rolledBack, Outcome{}, rolledBack},
		"it stays while another change is refused":     {rolledBack, Outcome{Verdict: plan.Refused, Err: errors.New("invalid")}, rolledBack},
		"it stays if the rest is refused":              {proving, Outcome{Verdict: plan.Upgrade, Err: errors.New("denied")}, proving},
		"it goes when it is deployed":                  {proving, Outcome{Verdict: plan.Upgrade}, nil},
		"it goes with a revert":                        {rolledBack, Outcome{Verdict: plan.InSync}, nil},
	} {
		after := &v1alpha1.CollectorStatus{}
		describeCanary(&v1alpha1.CollectorStatus{Canary: row.before}, after, row.outcome)
		if after.Canary != row.want {
			t.Errorf("%s: %+v, want %+v", name, after.Canary, row.want)
		}
	}
}

func TestReadySaysWhyCanaryPodsCannotBeMade(t *testing.T) {
	seen := Seen{Outcome: Outcome{Verdict: plan.Proving, Canary: &v1alpha1.CanaryStatus{Hash: "a"}, Proof: "canary pods (1 of 3) are not there"}}
	for want, workload := range map[string]*Workload{
		"canary pods (1 of 3) are not there; FailedCreate: exceeded quota": {troubles: []string{"FailedCreate: exceeded quota"}},
		"canary pods (1 of 3) are not there":                               nil,
	} {
		seen.Workload = workload
		if got := seen.undeployed(&v1alpha1.CollectorStatus{}); got == nil || got.message != want {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestAChangeOfTheOperatorIsOnItsWayUntilItIsProven(t *testing.T) {
	rolling := []v1alpha1.Condition{{Type: v1alpha1.UpdatePending, Status: "False", Reason: v1alpha1.ReasonRollingOut}}
	for name, row := range map[string]struct {
		canary     *v1alpha1.CanaryStatus
		isOnItsWay bool
	}{
		"while it proves itself, also if the Collector was not ready before": {&v1alpha1.CanaryStatus{Hash: "a"}, true},
		"not when it is rolled back":                                         {&v1alpha1.CanaryStatus{Hash: "a", RolledBack: "it died"}, false},
		"not when it is deployed":                                            {nil, false},
	} {
		before := &v1alpha1.CollectorStatus{Conditions: rolling, BeforeUpdate: &v1alpha1.BeforeUpdate{}}
		after := before.DeepCopy()
		after.Canary = row.canary
		if describeUpdate(before, after, Outcome{}, false); isTurn(after) != row.isOnItsWay {
			t.Errorf("%s: on its way %t", name, isTurn(after))
		}
	}
}
