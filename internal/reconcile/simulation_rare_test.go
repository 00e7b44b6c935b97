package reconcile

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/test/simulation"
)

// simRare returns schedules of one Collector, each with another seed or another n.
func simRare(events func(n int) []simulation.Event) iter.Seq[simulation.Schedule] {
	return func(yield func(simulation.Schedule) bool) {
		for seed := range uint64(20) {
			for n := 1; n <= 16; n++ {
				if !yield(simulation.Schedule{Seed: seed, Collectors: 1, Events: events(n)}) {
					return
				}
			}
		}
	}
}

// TestTheSimulationFindsRareDefectsInSchedulesThatLeadThere has schedules for defects that random ones take too long to find. Something
// happens at request n.
func TestTheSimulationFindsRareDefectsInSchedulesThatLeadThere(t *testing.T) {
	begin := []simulation.Event{{Action: simulation.Pass, N: 60}}
	for name, row := range map[string]struct {
		rules  string
		take   func(*Clients)
		events func(n int) []simulation.Event
	}{
		"a record that another version has written makes its change come before its turn": {
			rules: "S9", take: func(c *Clients) { c.revisions = simIncomplete{c.revisions.(simRevisions)} }, events: func(n int) []simulation.Event {
				return append(begin, simulation.Event{Action: simulation.Rehash, N: 1 + n%3, Rounds: 9})
			},
		},
		"a Secret that the informer cache does not show yet is not in use": {
			rules: "S1", take: func(c *Clients) { c.live = simUnshown{c.live.(simReader)} }, events: func(n int) []simulation.Event {
				return append(begin,
					simulation.Event{Action: simulation.Edit, Field: "autoscaling", Value: "hpa"},
					simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0"},
					simulation.Event{Action: simulation.RewriteSecret, N: 1, At: 1 + n%4},
					simulation.Event{Action: simulation.Timeout, N: 1 + n/2, Value: "before", Rounds: 5})
			},
		},
		"what the informer cache has counts, not what was read": {
			rules: "S6 S7", take: func(c *Clients) { c.revisions = simCached{c.revisions.(simRevisions)} }, events: func(int) []simulation.Event {
				return append(begin,
					simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 9},
					simulation.Event{Action: simulation.Stop, Target: simulation.UserSecret},
					simulation.Event{Action: simulation.RewriteSecret, N: 1},
					simulation.Event{Action: simulation.Edit, Field: "image", Value: "2", Rounds: 9},
					simulation.Event{Action: simulation.RewriteSecret, N: -1, Rounds: 9})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mended, defective, found := newSimRunner(nil), newSimRunner(row.take), ""
			for schedule := range simRare(row.events) {
				if result := mended.run(schedule, false); result.violation != "" {
					simTell(t, mended, schedule, result)
					return
				}
				if result := defective.run(schedule, false); slices.Contains(strings.Fields(row.rules), result.rule()) && result.violation != "" {
					found = result.violation
				}
			}
			if found == "" {
				t.Error("the defect is not found")
			}
			t.Log(found)
		})
	}
}
