package reconcile

import (
	"testing"

	"github.com/kube8/kube8-operator/test/simulation"
)

// TestTheSimulationFindsNoDefectOfAProofThatWasMended is TestTheSimulationFindsNoDefectThatWasMended for changes that are proven, or that
// cannot be because a StatefulSet has lost its pods.
func TestTheSimulationFindsNoDefectOfAProofThatWasMended(t *testing.T) {
	edit := func(field, value string, rounds int) simulation.Event {
		return simulation.Event{Action: simulation.Edit, Field: field, Value: value, Rounds: rounds}
	}
	simMustHold(t, map[string]func(n int) []simulation.Event{
		"a StatefulSet keeps the claim templates of a change that its canary has refused": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				{Action: simulation.Edit, Field: "mode", Value: "statefulset"},
				{Action: simulation.Edit, Field: "canary", Value: "true"},
				{Action: simulation.Edit, Field: "claim-size", Value: "2", Rounds: 5},
				{Action: simulation.Edit, Field: "claim-class", Value: "slow", Rounds: 4 + n%4},
				{Action: simulation.Edit, Field: "configuration", Value: "2"},
				{Action: simulation.Pods, N: 2, Value: "dies"},
				{Action: simulation.Edit, Field: "claim-class", Value: "fast"},
			}
		},
		"a pod of a canary that was taken back proves a change": func(n int) []simulation.Event { // S11
			return append([]simulation.Event{{Action: simulation.Pass, N: 60}},
				simulation.Event{Action: simulation.Edit, Field: "canary", Value: "true", Rounds: 5},
				simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "2", Rounds: n % 8},
				simulation.Event{Action: simulation.Pass, N: 30},
				simulation.Event{Action: simulation.Edit, Field: "check", Value: "2", Rounds: 5})
		},
		"pods wait for their StatefulSet although no record tells what it was": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				edit("mode", "statefulset", 5),
				{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.BrokenWebhook, Rounds: 1 + n%5},
				edit("claim-size", "1", 1+n%7),
				{Action: simulation.DeleteRecords, N: 3, Rounds: 3},
				edit("mode", "deployment", 5),
			}
		},
		"claims keep the class of a change that another change has replaced while it was proven": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 4), edit("claim-size", "1", 6), edit("claim-class", "fast", 4),
				edit("configuration", "2", n%6), edit("claim-class", "", n%5), edit("claim-class", "fast", 3),
			}
		},
		"an operator that starts during a proof looks again and again at claims": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				edit("canary", "true", 0), edit("volumes", "3", 2), {Action: simulation.Hold, Target: "Service", Rounds: 1},
				{Action: simulation.Pods, N: 5, Value: "never"}, edit("configuration", "5", 5),
				{Action: simulation.Restart, N: 1 + n%3, Rounds: 5}, {Action: simulation.Delete, Target: "Service", N: 2, Rounds: 1},
			}
		},
		"an operator that starts during a proof looks again and again at a Job": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				edit("canary", "true", 0), edit("check", "1", 0), edit("account", "other", 5),
				{Action: simulation.Delete, Target: "Secret", Rounds: 5}, edit("configuration", "4", 5), edit("autoscaling", "hpa", 0),
				{Action: simulation.Hold, Target: "Service"}, {Action: simulation.Delete, Target: "Service"},
				{Action: simulation.Pods, N: 5, Value: "never", Rounds: 2}, edit("replicas", "3", 2), edit("configuration", "5", n%4),
				{Action: simulation.Restart, N: 1 + n%3, Rounds: 2},
			}
		},
		"canary pods stay when the record of a change that replaces theirs is lost": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 5), {Action: simulation.Pods, N: 2, Value: "never"},
				edit("configuration", "2", 5), {Action: simulation.Timeout, N: 1 + n%4, Value: "before"}, edit("autoscaling", "hpa", 5),
			}
		},
		"a StatefulSet that is not the deployed workload is waited for": func(n int) []simulation.Event { // S6, S5
			last := []simulation.Event{edit("volumes", "2", 2), edit("mode", "deployment", 5), {Action: simulation.DeleteCollector, Rounds: 5}}
			return []simulation.Event{
				edit("canary", "true", 0), {Action: simulation.Pods, N: 3, Value: "dies"}, edit("mode", "statefulset", 6),
				edit("configuration", "3", 4), edit("claim-size", "1", 5), edit("mode", "daemonset", 5),
				{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.BlindWebhook}, edit("claim-class", "fast", 0),
				edit("mode", "statefulset", 1+n%5), last[n%3],
			}
		},
		"a StatefulSet that a finalizer holds is waited for by polling": func(n int) []simulation.Event { // S8, S7
			return []simulation.Event{
				edit("mode", "statefulset", 5), edit("claim-size", "3", 1), {Action: simulation.Hold, Target: "StatefulSet"},
				{Action: simulation.Delete, Target: "StatefulSet", Rounds: n % 3}, edit("mode", "deployment", n%2),
			}
		},
		"a StatefulSet is waited for that no record brings back": func(n int) []simulation.Event { // S6, S7
			return []simulation.Event{
				edit("canary", "true", 0), edit("claim-size", "1", 0), edit("mode", "statefulset", 8),
				{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.BlindWebhook}, edit("claim-class", "fast", 3+n%3),
				{Action: simulation.Pods, N: 2, Value: "never"}, edit("configuration", "2", 0), edit("mode", "deployment", 9),
				{Action: simulation.Pass, N: 30}, {Action: simulation.Allow}, {Action: simulation.DeleteRecords, N: 5, Rounds: n % 3},
				edit("mode", "statefulset", 0), edit("configuration", "3", 9),
			}
		},
		"Ready does not name the StatefulSet that a mode waits for": func(n int) []simulation.Event { // S7
			return []simulation.Event{
				edit("claim-size", "1", 0), edit("mode", "statefulset", 8), edit("claim-class", "fast", 1),
				{Action: simulation.Hold, Target: "StatefulSet"}, {Action: simulation.Delete, Target: "StatefulSet", Rounds: 1},
				{Action: simulation.DeleteRecords, N: 3 * (n % 2)}, {Action: simulation.Hold, Target: "Secret", Rounds: 1},
				{Action: simulation.Delete, Target: "Secret", Rounds: 3}, edit("configuration", "4", 0), edit("mode", "deployment", 1),
			}
		},
		"an object that is edited again and again is not repaired while a change waits": func(n int) []simulation.Event { // S6
			events := []simulation.Event{
				edit("canary", "true", 0), {Action: simulation.Pass, N: 60}, {Action: simulation.Hold, Target: "Deployment"},
				{Action: simulation.Delete, Target: "Deployment", Rounds: 3}, edit("configuration", "2", 5),
			}
			for range 6 + n%3 {
				events = append(events, simulation.Event{Action: simulation.EditApplied, Target: "Service", N: 3, Rounds: 4})
			}
			return append(events, simulation.Event{Action: simulation.Pass, N: 360})
		},
		"claim templates keep the size of a change that was taken back while it was proven": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 4), edit("claim-size", "2", 8), edit("image", "2", 2+n%4),
				edit("claim-size", "0", 1), edit("claim-size", "1", 1+n%3), edit("claim-size", "2", 8),
			}
		},
		"a change that is refused after its proof proves itself again at each attempt": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 5), {Action: simulation.Pass, N: 60},
				{Action: simulation.Refuse, Target: "PodDisruptionBudget", Value: simulation.BlindWebhook, Rounds: 1},
				edit("configuration", "2", n%4), edit("budget", "true", 5), {Action: simulation.Pods, Value: "always", Rounds: n % 3},
			}
		},
		"a promoted change that is refused is tried again at once": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				edit("canary", "true", 0), {Action: simulation.Pass, N: 60}, edit("ports", "2", 0), edit("configuration", "2", 2+n%3),
				{Action: simulation.Refuse, Target: "Deployment", Value: simulation.BlindWebhook},
				{Action: simulation.Decide, Value: "promote", Rounds: n % 4},
			}
		},
		"a change that was rolled back reaches a workload that was scaled to 0": func(n int) []simulation.Event { // S6, S11
			return []simulation.Event{
				edit("canary", "true", 0), {Action: simulation.Pods, N: 2, Value: "dies"}, {Action: simulation.Pass, N: 60},
				edit("configuration", "2", 8), {Action: simulation.Pass, N: 60}, {Action: simulation.Scale, Rounds: n % 4}, {Action: simulation.Pass, N: 400},
			}
		},
		"a configuration that is broken counts as aborted after a change was promoted": func(n int) []simulation.Event { // S7
			return []simulation.Event{
				edit("canary", "true", 0), {Action: simulation.Pass, N: 60}, edit("configuration", "2", 1+n%5),
				{Action: simulation.Decide, Value: "promote", Rounds: 3}, edit("configuration", "6", 5),
			}
		},
		"a record that cannot be read counts as that of a later revision": func(n int) []simulation.Event { // S11
			return []simulation.Event{
				edit("canary", "true", 0), edit("image", "1", 5), {Action: simulation.Rehash, N: 1 + n%3}, {Action: simulation.Hold, Target: "Deployment"},
				{Action: simulation.Delete, Target: "Deployment"}, edit("claim-size", "2", 2), {Action: simulation.ChangeBase, N: 2, At: n % 5, Rounds: 1},
				{Action: simulation.ChangeBase, N: 3, Rounds: 3}, edit("configuration", "2", 3),
			}
		},
		"a pod is replaced that lacks a claim of the predecessor of its StatefulSet": func(n int) []simulation.Event { // S3
			return []simulation.Event{
				edit("mode", "statefulset", 5), {Action: simulation.Scale, N: 4, Rounds: 5}, edit("claim-size", "1", 4+n%3),
				{Action: simulation.Stop, Target: "StatefulSet"}, edit("claim-size", "0", 4), {Action: simulation.Pass, N: 5 * (n % 4)},
			}
		},
		"a pod that cannot be deleted is deleted again and again": func(n int) []simulation.Event { // S8
			return []simulation.Event{
				edit("mode", "statefulset", 5), {Action: simulation.Scale, N: 2, Rounds: 5}, {Action: simulation.Pass, N: 60},
				{Action: simulation.Refuse, Target: "Pod", Value: simulation.Keeper}, edit("claim-size", "1", n%5),
			}
		},
		"what a first workload mounts goes before the workload": func(n int) []simulation.Event { // S1
			return []simulation.Event{
				edit("configuration", "6", 2), edit("mode", "statefulset", 2), edit("autoscaling", "keda", 0),
				{Action: simulation.Occupy, Target: "ScaledObject", Rounds: 2}, {Action: simulation.Kill, N: n % 6, Value: "after"}, edit("configuration", "2", 2),
			}
		},
		"a pod that the informer cache missed outlives its StatefulSet": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				{Action: simulation.Pass, N: 60}, edit("claim-size", "3", 0), edit("mode", "statefulset", 4+n%5), {Action: simulation.Stop, Target: "Pod", Rounds: 1},
				{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.BrokenWebhook, Rounds: 2}, edit("claim-size", "0", 8), edit("mode", "deployment", 5),
			}
		},
		"the canary of a DaemonSet begins before its pods are seen": func(n int) []simulation.Event { // S11
			return []simulation.Event{
				{Action: simulation.ChangeBase, N: 2, At: 1, Rounds: 3}, {Action: simulation.ChangeBase, N: 1, At: 1, Rounds: 1},
				edit("canary", "true", 0), edit("mode", "daemonset", n%4), edit("volumes", "2", 0), {Action: simulation.Pass, N: 60},
			}
		},
		"the canary of a DaemonSet has room for a pod of another workload": func(n int) []simulation.Event { // S11
			return []simulation.Event{
				edit("account", "other", 2), edit("canary", "true", 0), edit("mode", "statefulset", 5),
				{Action: simulation.Refuse, Target: "StatefulSet", Value: simulation.BlindWebhook}, {Action: simulation.Pods, N: 2, Value: "never", Rounds: 1},
				edit("configuration", "2", 2), edit("claim-size", "2", 2), edit("mode", "daemonset", 4+n%4), edit("account", "", 1),
			}
		},
		"a pod that seems to have a StatefulSet is not protected": func(n int) []simulation.Event { // S11
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 6), edit("claim-size", "1", 0), {Action: simulation.Stop, Target: "Pod"},
				{Action: simulation.Pass, N: 40, Rounds: 2}, {Action: simulation.Kill, Field: "3", N: 7 + n%4, Value: "before", Rounds: 2},
				edit("claim-size", "0", 7),
			}
		},
		"a claim keeps the class of a change whose successor could not begin": func(n int) []simulation.Event { // S6
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 4), edit("claim-class", "slow", 6), edit("claim-size", "1", 4),
				edit("configuration", "2", 2), edit("claim-class", "fast", 6), {Action: simulation.Timeout, N: 5 + n%4, Value: "after", Rounds: 5},
				edit("claim-class", "slow", 5),
			}
		},
		"a canary that is the only pod of a StatefulSet proves nothing": func(n int) []simulation.Event { // S11
			return []simulation.Event{
				edit("canary", "true", 0), edit("mode", "statefulset", 4), {Action: simulation.Pass, N: 60}, edit("image", "2", n%5),
				{Action: simulation.Scale, N: n % 4, Rounds: 3},
			}
		},
	})
}
