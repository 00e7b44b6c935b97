package reconcile

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
)

// Without that, an operator that has just begun to lead would take what it has not seen yet for what never has a verdict.
func TestAProofKnowsSinceWhenDataIsWatched(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, row := range map[string]struct {
		spec map[string]any
		want *flow.Comparison
	}{
		"with a flow":    {map[string]any{"flow": map[string]any{}}, &flow.Comparison{Began: began}},
		"without a flow": {map[string]any{}, nil},
	} {
		r := &reconcile{collector: &unstructured.Unstructured{Object: map[string]any{"spec": row.spec}}, Clients: &Clients{Options: Options{
			Flows: func(client.Object) (map[types.UID]flow.Verdict, time.Time) { return nil, began },
		}}}
		s := plan.Situation{Canary: &plan.Canary{}}
		r.compare(&s, []live.Pod{{Name: "c-x", Ready: true}})
		if got := s.Canary.Flow; (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

func TestDataOfPodsWithoutAStampIsThatOfTheOthers(t *testing.T) {
	canary, old := live.Pod{UID: "1", Template: "new"}, live.Pod{UID: "2"}
	goes := live.Pod{UID: "3", Template: "old", Deleting: true}
	verdicts := map[types.UID]flow.Verdict{"1": {}, "2": {}}
	for name, row := range map[string]struct {
		pods             []live.Pod
		canaries, others int
		isAlone          bool
	}{
		"beside one without a stamp": {[]live.Pod{canary, old}, 1, 1, false},
		"beside one that goes":       {[]live.Pod{canary, goes}, 1, 0, true},
		"alone":                      {[]live.Pod{canary}, 1, 0, true},
	} {
		canaries, others, isAlone := split(row.pods, verdicts, "new")
		if len(canaries) != row.canaries || len(others) != row.others || isAlone != row.isAlone {
			t.Errorf("%s: %d canaries, %d others, alone %t", name, len(canaries), len(others), isAlone)
		}
	}
}

// Its pods refer to a Secret that the owner has renewed, as the canary pods of the change already do.
func TestWhoseChangeItIsWhenItHasBegun(t *testing.T) {
	first, second := history.Inputs{Generation: 1, References: "Secret/a=1"}, history.Inputs{Generation: 1, References: "Secret/a=2"}
	what := live.NewReference(appsv1.SchemeGroupVersion.WithKind("Deployment"), "c")
	updates := func(reason string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "UpdatePending", "status": "True", "reason": reason}}}
	}
	rolledBack := map[string]any{"canary": map[string]any{"hash": "new", "rolledBack": "it died"}}
	for name, row := range map[string]struct {
		begun  string // the hash of what has begun
		latest change
		status map[string]any
		want   bool
	}{
		"the owner's, if it has begun without a turn":                {"new", change{first, "old"}, nil, false},
		"the owner's, as an operator that has started sees it":       {"new", change{}, nil, false},
		"the operator's, if its turn has come":                       {"new", change{}, updates("RollingOut"), true},
		"the operator's, if it had waited for its turn, and is held": {"new", change{second, "new"}, nil, true},
		"the operator's, if it is held, after a start":               {"new", change{}, updates("LeftOut"), true},
		"the operator's, if it was rolled back":                      {"new", change{}, rolledBack, true},
		"the owner's, if the operator brings more meanwhile":         {"another", change{first, "old"}, nil, false},
		"the operator's, if another change had waited for its turn":  {"another", change{second, "another"}, nil, true},
	} {
		r := &reconcile{
			collector: &unstructured.Unstructured{Object: map[string]any{"status": row.status}},
			memory: memory{
				deployed: history.Deployed{Revision: 1, Digest: "old", Generation: 1}, latest: row.latest,
				begun: &v1alpha1.RecordedRevision{Revision: 2, Hash: row.begun},
			},
			found:    map[live.Reference]live.Object{what: {References: "Secret/a=2"}},
			rendered: &history.Revision{Want: plan.Want{Hash: "new"}, References: "Secret/a=2", Inputs: second},
		}
		if got := r.isByOperator(); got != row.want {
			t.Errorf("%s: by the operator %t", name, got)
		}
	}
}

func TestARefusedChangeOfTheOperatorAsksForNoTurnWhenItsBackoffIsOver(t *testing.T) {
	inputs := history.Inputs{Generation: 1}
	for name, row := range map[string]struct {
		refused change
		want    bool
	}{
		"one that waits for its turn":        {change{}, true},
		"one that canary pods have not made": {change{inputs, "new"}, false},
	} {
		r := &reconcile{
			Clients: &Clients{now: time.Now},
			memory: memory{
				deployed: history.Deployed{Revision: 1, Digest: "old"}, latest: change{inputs, "new"}, refused: row.refused,
				expected: live.Expectations{}, begun: &v1alpha1.RecordedRevision{}, until: time.Now().Add(time.Hour),
			},
		}
		if _, is := r.unchanged(inputs, true); is != row.want {
			t.Errorf("%s: unchanged %t", name, is)
		}
	}
}
