package reconcile

import (
	"slices"
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/test/simulation"
)

// TestTheModelRendersWhatIsExpected ties the model to the other level of the simulation: there the objects in the end are those that
// simulation.Expected returns.
func TestTheModelRendersWhatIsExpected(t *testing.T) {
	spec := simulation.First()
	for seed := range uint64(1000) {
		for _, event := range simulation.New(seed).Events {
			if event.Action == simulation.Edit {
				spec = spec.With(event.Field, event.Value)
			}
		}
		var got []string
		for _, content := range (simInputs{spec: spec.Effective(), chart: 1}).contents() {
			name := content.GetKind() + "/" + content.GetName()
			if strings.HasPrefix(name, "Secret/c-config-") {
				name = "Secret/c-config"
			}
			if content.GetKind() != "Job" {
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, simulation.Expected(spec)) {
			t.Fatalf("%s: the model has %v, want %v", spec, got, simulation.Expected(spec))
		}
	}
}
