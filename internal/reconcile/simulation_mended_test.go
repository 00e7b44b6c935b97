package reconcile

import (
	"strconv"
	"testing"

	"github.com/kube8/kube8-operator/test/simulation"
)

// TestTheSimulationFindsNoDefectThatWasMended has schedules that led to defects, whose mends cannot be taken out. Something happens at
// request n. Each name says the defect, and each comment the rule that it broke.
func TestTheSimulationFindsNoDefectThatWasMended(t *testing.T) {
	begin := []simulation.Event{{Action: simulation.Pass, N: 60}}
	killedWithChart2 := func(n int, edits ...simulation.Event) []simulation.Event {
		return append(append(begin, simulation.Event{Action: simulation.Mark, Field: "rollout", Value: "hold", Rounds: 5},
			simulation.Event{Action: simulation.Kill, Field: "2", N: n, Value: "after"}), edits...)
	}
	simMustHold(t, map[string]func(n int) []simulation.Event{
		"a record does not say which spec it is of": func(n int) []simulation.Event { // S9
			return killedWithChart2(n, simulation.Event{Action: simulation.Edit, Field: "image", Value: "2", Rounds: 9})
		},
		"a revision that removes something is not recalled": func(n int) []simulation.Event { // S9
			return killedWithChart2(n, simulation.Event{Action: simulation.Edit, Field: "policy", Value: "false", Rounds: 9})
		},
		"a revision of another mode is not recalled": func(n int) []simulation.Event { // S9
			return killedWithChart2(n, simulation.Event{Action: simulation.Edit, Field: "mode", Value: "statefulset", Rounds: 9})
		},
		"a revision during a change of mode is not recalled": func(n int) []simulation.Event { // S9
			return killedWithChart2(n, simulation.Event{Action: simulation.Edit, Field: "mode", Value: "statefulset", Rounds: 1},
				simulation.Event{Action: simulation.Edit, Field: "autoscaling", Value: "hpa", Rounds: 9})
		},
		"a revision is not recalled when somebody has deleted what it has not brought": func(n int) []simulation.Event { // S9
			return killedWithChart2(n, simulation.Event{Action: simulation.Edit, Field: "image", Value: "2", Rounds: 1},
				simulation.Event{Action: simulation.Delete, Target: "ServiceAccount", Rounds: 9})
		},
		"a record of a change there and back is not withdrawn": func(n int) []simulation.Event { // S10
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 9},
				simulation.Event{Action: simulation.Kill, Field: "1", N: n, Value: "after"},
				simulation.Event{Action: simulation.RewriteSecret, N: 1, Rounds: 1},
				simulation.Event{Action: simulation.RewriteSecret, N: -1, Rounds: 9})
		},
		"a repair that fails is not tried again": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.Refuse, Target: "HorizontalPodAutoscaler", Value: simulation.BlindWebhook},
				simulation.Event{Action: simulation.Timeout, N: n, Value: "before"},
				simulation.Event{Action: simulation.Edit, Field: "image", Value: "2"},
				simulation.Event{Action: simulation.Edit, Field: "ports", Value: "2"},
				simulation.Event{Action: simulation.Edit, Field: "autoscaling", Value: "hpa", Rounds: 9})
		},
		"a repair stays where a refusal has stopped it": func(n int) []simulation.Event { // S6
			return append([]simulation.Event{{Action: simulation.Edit, Field: "autoscaling", Value: "hpa"}}, append(begin,
				simulation.Event{Action: simulation.Refuse, Target: "Secret", Value: simulation.Policy, Rounds: 5},
				simulation.Event{Action: simulation.Edit, Field: "mode", Value: "statefulset", Rounds: 1},
				simulation.Event{Action: simulation.Edit, Field: "role", Value: "2", Rounds: 2},
				simulation.Event{Action: simulation.Kill, Field: "3", N: n, Value: "after"},
				simulation.Event{Action: simulation.Edit, Field: "claim-size", Value: "3", Rounds: 4},
				simulation.Event{Action: simulation.Refuse, Target: "Service", Value: simulation.BlindWebhook, Rounds: 2},
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "1", Rounds: 5},
				simulation.Event{Action: simulation.Delete, Target: "NetworkPolicy", Rounds: 5})...)
		},
		"a repair that fails wakes itself": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				{Action: simulation.Verdict, Value: "refused", N: 2},
				{Action: simulation.Edit, Field: "autoscaling", Value: "keda", Rounds: 5},
				{Action: simulation.Edit, Field: "configuration", Value: "2", Rounds: 5},
				{Action: simulation.Timeout, N: n, Value: "after", Rounds: 5},
				{Action: simulation.Refuse, Target: "ScaledObject", Value: simulation.BrokenWebhook, Rounds: 5},
				{Action: simulation.Edit, Field: "autoscaling", Value: "hpa", Rounds: 5},
				{Action: simulation.Edit, Field: "check", Value: "1"},
			}
		},
		"a repair that fails is told only while the change waits": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				{Action: simulation.Recreate, Target: "ScaledObject", N: 2, Rounds: 1},
				{Action: simulation.Refuse, Target: "Service", Value: simulation.BlindWebhook},
				{Action: simulation.Refuse, Target: "ServiceMonitor", Value: simulation.Policy, Rounds: 5},
				{Action: simulation.Kill, Field: "2", N: n, Value: "after", Rounds: 1},
				{Action: simulation.Edit, Field: "image", Value: "3"},
				{Action: simulation.Scale, N: 4, Rounds: 2},
			}
		},
		"a claim that the informer cache does not show is changed before its check": func(n int) []simulation.Event { // S1
			return []simulation.Event{
				{Action: simulation.Stop, Target: "PersistentVolumeClaim", Rounds: 5},
				{Action: simulation.Edit, Field: "check", Value: "2", Rounds: 2},
				{Action: simulation.Edit, Field: "volumes", Value: "2", Rounds: 2 * (n % 2)},
				{Action: simulation.Edit, Field: "volume-size", Value: "0", Rounds: 2},
				{Action: simulation.Edit, Field: "volume-size", Value: "2", Rounds: n % 3},
				{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 5},
			}
		},
		"a claim that something grows while its change is checked has that refused": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "volumes", Value: "1"},
				simulation.Event{Action: simulation.Edit, Field: "check", Value: "1", Rounds: n % 3},
				simulation.Event{Action: simulation.EditApplied, Target: "PersistentVolumeClaim", N: n, Rounds: 1})
		},
		"the number of pods is not seen when nothing can be rendered": func(n int) []simulation.Event { // S3
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 9},
				simulation.Event{Action: simulation.Scale, N: 4},
				simulation.Event{Action: simulation.RewriteSecret, N: 1},
				simulation.Event{Action: simulation.Timeout, N: n, Value: "before", Rounds: 1},
				simulation.Event{Action: simulation.Delete, Target: "Deployment", Rounds: 9})
		},
		"the record of a change stays when the next operator finds its Secret broken": func(n int) []simulation.Event { // S10
			return []simulation.Event{
				{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 5},
				{Action: simulation.Kill, N: 7 + n%4, Value: "before"},
				{Action: simulation.Edit, Field: "autoscaling", Value: "keda", Rounds: 5},
				{Action: simulation.RewriteSecret, N: 1}, {Action: simulation.ChangeBase, N: 3, At: 2},
				{Action: simulation.RewriteSecret, N: 1, At: 2, Rounds: 1},
			}
		},
		"a revision whose record is refused is rolled back by an operator that starts": func(n int) []simulation.Event { // S1
			return append(begin,
				simulation.Event{Action: simulation.Refuse, Target: "Secret", Value: simulation.Quota},
				simulation.Event{Action: simulation.Edit, Field: "image", Value: "2", Rounds: 9},
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: strconv.Itoa(2 + n%2*(simulation.Broken-2)), Rounds: 5},
				simulation.Event{Action: simulation.Restart, N: 1, Rounds: 9})
		},
		"a change of what no pod uses counts as one of what serves": func(n int) []simulation.Event { // S1
			return append(begin,
				simulation.Event{Action: simulation.Refuse, Target: "Secret", Value: simulation.Policy},
				simulation.Event{Action: simulation.Edit, Field: "account", Value: "other", Rounds: 5},
				simulation.Event{Action: simulation.Restart, N: 1 + n%3},
				simulation.Event{Action: simulation.ChangeBase, N: 1, Rounds: 2},
				simulation.Event{Action: simulation.Edit, Field: "account", Rounds: 5})
		},
		"a second revision whose record is refused hides that the first one serves": func(n int) []simulation.Event { // S1
			return []simulation.Event{
				{Action: simulation.Edit, Field: "mode", Value: "statefulset"},
				{Action: simulation.Scale, N: 1, Rounds: 1},
				{Action: simulation.Refuse, Target: "Secret", Value: simulation.Quota, Rounds: 2},
				{Action: simulation.Edit, Field: "volumes", Value: "2", Rounds: 5},
				{Action: simulation.Scale, N: 2, Rounds: 5},
				{Action: simulation.Edit, Field: "volume-size", Value: "2", Rounds: 1 + n%4},
				{Action: simulation.Mark, Field: "paused", Value: "true", Rounds: 2},
				{Action: simulation.Edit, Field: "check", Value: "1", Rounds: 5},
				{Action: simulation.Restart, N: 1, Rounds: 2},
			}
		},
		"what a repair finds and no revision has stays after it": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.ChangeBase, N: 2, Rounds: 9},
				simulation.Event{Action: simulation.Stop, Target: "NetworkPolicy"},
				simulation.Event{Action: simulation.Recreate, Target: "NetworkPolicy", N: 2},
				simulation.Event{Action: simulation.Edit, Field: "policy", Value: "false", Rounds: 1 + n%3},
				simulation.Event{Action: simulation.ChangeBase, N: simulation.Missing},
				simulation.Event{Action: simulation.Resume, Target: "NetworkPolicy", Rounds: 2},
				simulation.Event{Action: simulation.ChangeBase, N: 2})
		},
		"the record of a first revision stays that an operator began while it was refused": func(n int) []simulation.Event { // S10
			return []simulation.Event{
				{Action: simulation.Refuse, Target: "NetworkPolicy", Value: simulation.Quota, Rounds: 9},
				{Action: simulation.Kill, Field: "1", N: n, Value: "after", Rounds: 9},
				{Action: simulation.Edit, Field: "configuration", Value: strconv.Itoa(simulation.Broken), Rounds: 9},
			}
		},
		"an operator whose status was not written has begun another change before its end": func(n int) []simulation.Event { // S10
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "3"},
				simulation.Event{Action: simulation.Timeout, N: 5, Value: "before"},
				simulation.Event{Action: simulation.Kill, Field: "1", N: n, Value: "after", Rounds: 1},
				simulation.Event{Action: simulation.Edit, Field: "ports", Value: "3", Rounds: 5})
		},
		"a check creates what is lost as the change has it": func(n int) []simulation.Event { // S6
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "check", Value: "1", Rounds: n % 3},
				simulation.Event{Action: simulation.Delete, Target: "ServiceAccount", Rounds: n / 3},
				simulation.Event{Action: simulation.Edit, Field: "role", Value: "2"},
				simulation.Event{Action: simulation.Verdict, Value: "killed", N: 1})
		},
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
		"a StatefulSet keeps the claim templates of a change that was refused half way": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				{Action: simulation.Edit, Field: "mode", Value: "statefulset"},
				{Action: simulation.Edit, Field: "claim-size", Value: "2", Rounds: 5},
				{Action: simulation.Edit, Field: "claim-class", Value: "slow", Rounds: 4 + n%4},
				{Action: simulation.Refuse, Target: "HorizontalPodAutoscaler", Value: simulation.BlindWebhook},
				{Action: simulation.Edit, Field: "autoscaling", Value: "hpa"},
				{Action: simulation.Edit, Field: "claim-class", Value: "fast", Rounds: 9},
			}
		},
		"an object counts as applied that the informer cache has although another one has its name": func(n int) []simulation.Event { // S1
			return append(begin,
				simulation.Event{Action: simulation.Stop, Target: "Pod"}, simulation.Event{Action: simulation.Stop, Target: "Deployment", Rounds: 5},
				simulation.Event{Action: simulation.Edit, Field: "volumes", Value: "3", Rounds: 5},
				simulation.Event{Action: simulation.Delete, Target: "Deployment", Rounds: 1 + n%3}, simulation.Event{Action: simulation.Pass, N: 400},
				simulation.Event{Action: simulation.Edit, Field: "volumes", Value: "0", Rounds: 5})
		},
		"nothing has begun since the digest that the late informer cache has": func(n int) []simulation.Event { // S10
			return append(begin,
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "0", Rounds: 9},
				simulation.Event{Action: simulation.Kill, Field: "1", N: 2 + n/2, Value: "before"},
				simulation.Event{Action: simulation.RewriteSecret, N: 1, At: 1 + n%2},
				simulation.Event{Action: simulation.RewriteSecret, N: -1, Rounds: 9})
		},
	})
}

// simMustHold runs schedules that must violate no rule.
func simMustHold(t *testing.T, rows map[string]func(n int) []simulation.Event) {
	t.Helper()
	for name, events := range rows {
		t.Run(name, func(t *testing.T) {
			runner := newSimRunner(nil)
			for schedule := range simRare(events) {
				if result := runner.run(schedule, false); result.violation != "" {
					simTell(t, runner, schedule, result)
					return
				}
			}
		})
	}
}
