package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/flow"
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
