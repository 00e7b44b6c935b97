package release

import (
	"testing"

	"github.com/kube8/kube8-operator/test/simulation"
)

// TestTheSimulationFindsNoDefectThatWasMended has schedules that led to defects, whose mends cannot be taken out. Something happens at
// request n. Each name says the defect, and each comment the rule that it broke.
func TestTheSimulationFindsNoDefectThatWasMended(t *testing.T) {
	begin := []simulation.Event{{Action: simulation.Pass, N: 60}}
	for name, events := range map[string]func(n int) []simulation.Event{
		"a change of the operator whose record's answer is lost does not wait": func(n int) []simulation.Event { // S9
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "mode", Value: "daemonset", Rounds: 5},
				simulation.Event{Action: simulation.Rehash, N: 2, Rounds: 1},
				simulation.Event{Action: simulation.Timeout, N: n, Value: "before", Rounds: 5})
		},
		"a change of the operator whose record's answer is lost, and that is held then, has changed nothing": func(n int) []simulation.Event { // S9
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "mode", Value: "statefulset", Rounds: n % 3},
				simulation.Event{Action: simulation.Rehash, N: 2, Rounds: 1 + n/3},
				simulation.Event{Action: simulation.Timeout, N: 5 + n/4, Value: "after", Rounds: 1},
				simulation.Event{Action: simulation.Mark, Field: "rollout", Value: "hold", Rounds: 9})
		},
		"what a workload uses is not in use while the informer cache does not show the workload": func(n int) []simulation.Event { // S1
			return append(begin,
				simulation.Event{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.Policy, Rounds: 2},
				simulation.Event{Action: simulation.Edit, Field: "role", Value: "1", Rounds: n % 2},
				simulation.Event{Action: simulation.Edit, Field: "mode", Value: "statefulset", Rounds: n / 4},
				simulation.Event{Action: simulation.Delete, Target: "Deployment", Rounds: 1},
				simulation.Event{Action: simulation.Edit, Field: "role", Value: "0", Rounds: 5})
		},
		"a repair leaves an object that it finds where it would create one": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.Stop, Target: "PersistentVolumeClaim"},
				simulation.Event{Action: simulation.Edit, Field: "volumes", Value: "1", Rounds: 1 + n%2},
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "6", Rounds: 1 + n%3},
				simulation.Event{Action: simulation.Recreate, Target: "PersistentVolumeClaim", N: 1, Rounds: 1 + n/4},
				simulation.Event{Action: simulation.Edit, Field: "mode", Value: "daemonset", Rounds: 2})
		},
		"the informer cache has shown what an apply brought whose answer was lost": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.Stop, Target: "Job"},
				simulation.Event{Action: simulation.Edit, Field: "check", Value: "2", Rounds: 2},
				simulation.Event{Action: simulation.Timeout, N: 3, Value: "after", Rounds: n},
				simulation.Event{Action: simulation.Delete, Target: "Job", N: 2, Rounds: 1})
		},
		"nothing has begun since the digest that the late informer cache has": func(n int) []simulation.Event { // S10
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 9},
				simulation.Event{Action: simulation.Kill, Field: "1", N: 2 + n/2, Value: "before"},
				simulation.Event{Action: simulation.RewriteSecret, N: 1, At: 1 + n%2},
				simulation.Event{Action: simulation.RewriteSecret, N: -1, Rounds: 9})
		},
	} {
		t.Run(name, func(t *testing.T) {
			runner := newSimRunner(nil)
			for seed := range uint64(20) {
				for n := 1; n <= 16; n++ {
					schedule := simulation.Schedule{Seed: seed, Collectors: 1, Events: events(n)}
					if result := runner.run(schedule, false); result.violation != "" {
						simTell(t, runner, schedule, result)
						return
					}
				}
			}
		})
	}
}
