package plan

import (
	"errors"
	"testing"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
)

func TestDecideWhatTakesThePlaceOfWhat(t *testing.T) {
	serving := having("ServiceAccount/c=1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")
	decisions{
		"a changed configuration is a new Secret and the workload, and needs no dry run": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=1", "Secret/c-2=2", "Service/c=1", "Deployment/c=2"),
				View: live.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Upgrade\ncreate Secret/c-2\nchange Deployment/c",
		},
		"what is new is created before what is mounted changes, so that its refusal leaves that": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-2=2", "Service/c=1", "Deployment/c=2"),
				View: live.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange ServiceAccount/c\nchange Deployment/c",
		},
		"the number of pods is handed over when an autoscaler gets it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2", "HorizontalPodAutoscaler/c=1"),
				View: live.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.OwnsReplicas = true })},
			},
			"Upgrade\ntry HorizontalPodAutoscaler/c\nchange Deployment/c, handing over replicas\ncreate HorizontalPodAutoscaler/c",
		},
		"a number of pods that a new workload began with is handed over later": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1"),
				View: live.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.OwnsReplicas = true })},
			},
			"Drifted\nchange Deployment/c, handing over replicas",
		},
		"a workload of another kind begins with as many pods, and the old one stays with all that it has": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-1=1", "StatefulSet/c=1"),
				View: live.View{
					Objects: with(having("Secret/c-1=1", "Service/c-old=1", "Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 }),
					Used:    used("Secret/c-1"),
				},
			},
			"Upgrade\ncreate StatefulSet/c with 4 pods\n" + `message: Deployment "c" serves until StatefulSet "c" does`,
		},
		"the old workload goes when the new one serves": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "Secret/c-1=1", "StatefulSet/c=1"),
				View: live.View{
					Objects: with(with(having("Secret/c-1=1", "Service/c-old=1", "Deployment/c=1", "StatefulSet/c=1"),
						"Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 }), "StatefulSet/c", func(seen *live.Seen) { seen.Serves = true }),
					Used: used("Secret/c-1"),
				},
			},
			"InSync\ndelete Deployment/c, delete Service/c-old",
		},
		"a workload of another kind that may have lost only its label is looked for before anything else goes": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: with(having("StatefulSet/c=1", "Deployment/c=1 lost", "Service/c-old=1"),
					"StatefulSet/c", func(seen *live.Seen) { seen.Serves = true })},
			},
			"InSync\nadopt Deployment/c",
		},
		"and also while the deployed revision is repaired": {
			Situation{
				Deployed: "r2", Restores: true, Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: having("StatefulSet/c=1", "Deployment/c=1 lost", "Service/c-old=1")},
			},
			"InSync\nadopt Deployment/c",
		},
		"what is created when it has gone is tried also if nothing else is to be done": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Deployment/c=1 deleting")},
			},
			"Upgrade\ntry Deployment/c\n" +
				`message: Deployment "c" is being deleted; the operator creates it again when it has gone`,
		},
		"an old workload that a finalizer keeps beside the new one is named": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: held(having("StatefulSet/c=1", "Deployment/c=1 deleting"), "Deployment/c")},
			},
			"InSync\n" + `message: Deployment "c" is being deleted, and held by finalizers example.com/held`,
		},
		"of several objects that finalizers keep, it is always the same that is named": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: held(held(having("StatefulSet/c=1", "Service/c=1 deleting", "NetworkPolicy/c=1 deleting"),
					"Service/c"), "NetworkPolicy/c")},
			},
			"InSync\n" + `message: NetworkPolicy "c" is being deleted, and held by finalizers example.com/held`,
		},
		"what pods no longer mount is not worth a message, although a finalizer keeps it": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: held(having("StatefulSet/c=1", "PersistentVolumeClaim/c=1 deleting"), "PersistentVolumeClaim/c")},
			},
			"InSync",
		},
		"what goes without a finalizer is not named": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1"), View: live.View{Objects: having("StatefulSet/c=1", "Deployment/c=1 deleting")},
			},
			"InSync",
		},
		"what a finalizer keeps is named also while a change of the operator waits": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "StatefulSet/c=2"),
				View: live.View{Objects: held(having("StatefulSet/c=1", "Deployment/c=1 deleting"), "Deployment/c")},
			},
			"Deferred\n" + `message: Deployment "c" is being deleted, and held by finalizers example.com/held`,
		},
		"pods without their StatefulSet get it back before another kind takes its place": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Service/c=1", "StatefulSet/c=1 lost"), Orphans: 2},
			},
			"Deferred, restores\nmessage: the deployed StatefulSet takes its pods back before the mode changes",
		},
		"a mode does not change while a StatefulSet is deleted without its pods": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=1"),
				View: live.View{Objects: with(having("StatefulSet/c=1 deleting"), "StatefulSet/c", func(seen *live.Seen) {
					seen.Finalizers = []string{"orphan"}
				})},
			},
			"Deferred, restores\nmessage: StatefulSet \"c\" is being deleted, and held by finalizers orphan; the deployed one takes its pods back before the mode changes",
		},
		"a Collector that is deleted does not leave pods behind that have lost their StatefulSet": {
			Situation{Deletes: true, Deployed: "r1", View: live.View{Objects: having("Service/c=1"), Orphans: 1}},
			"Uninstalling, restores\nerror: the deployed StatefulSet takes its pods back before it goes",
		},
		"a StatefulSet that is created again has as many pods as wait for it": {
			Situation{
				Deployed: "r1", Restores: true, Want: wanted("r1", "StatefulSet/c=1"), View: live.View{Objects: having(), Orphans: 4},
			},
			"Drifted\ncreate StatefulSet/c with 4 pods",
		},
		"the old workload goes when the new one is not to have pods": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "StatefulSet/c=1+replicas"),
				View: live.View{Objects: with(having("Deployment/c=1", "StatefulSet/c=1"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 })},
			},
			"InSync\ndelete Deployment/c",
		},
		"the old workload goes at once where both cannot run beside each other": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "DaemonSet/c=1+excludes"),
				View: live.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 })},
			},
			"Upgrade\ncreate DaemonSet/c\ndelete Deployment/c",
		},
		"a workload that says how many pods it has begins with these": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=1+replicas"),
				View: live.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 })},
			},
			"Upgrade\ncreate StatefulSet/c\n" + `message: Deployment "c" serves until StatefulSet "c" does`,
		},
		"an autoscaler takes the place of one of another kind": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=1", "ScaledObject/c=1"),
				View: live.View{Objects: having("Deployment/c=1", "HorizontalPodAutoscaler/c=1")},
			},
			"Upgrade\nreplace ScaledObject/c in place of HorizontalPodAutoscaler/c",
		},
		"what is no longer rendered goes when no pod uses it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/d=1", "Deployment/c=2"),
				View: live.View{
					Objects: having("ServiceAccount/c=1", "ServiceAccount/e=1", "ServiceAccount/d=1", "Deployment/c=1", "Ingress/c=1", "Service/c=1 lost"),
					Used:    used("ServiceAccount/c"),
				},
			},
			"Upgrade\nchange Deployment/c\ndelete Ingress/c, delete ServiceAccount/e",
		},
		"as many Secrets of configurations stay as there are records, and none that never reached a workload": {
			Situation{
				History:  3,
				Deployed: "r1", Want: wanted("r2", "Secret/c-6=1", "Deployment/c=2"),
				View: live.View{
					Objects: with(having("Secret/c-1=1", "Secret/c-2=1", "Secret/c-3=1", "Secret/c-4=1", "Secret/c-refused=1", "Deployment/c=1"),
						"Secret/c-refused", func(seen *live.Seen) { seen.Pending = true }),
					Used: used("Secret/c-4"),
				},
			},
			"Upgrade\ndelete Secret/c-refused\ncreate Secret/c-6\nchange Deployment/c\ndelete Secret/c-1, delete Secret/c-2",
		},
		"no Secret of a configuration stays without a configuration": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=1"),
				View: live.View{Objects: having("Secret/c-1=1", "Deployment/c=1")},
			},
			"Upgrade\ndelete Secret/c-1",
		},
		"a workload that is not there is drift": {
			Situation{Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Service/c=1")}},
			"Deferred, restores",
		},
		"a Secret that nobody can change is replaced": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1"), View: live.View{Objects: having("Secret/c-1=0 changed", "Deployment/c=1")},
				Immutable: apply.Immutables{ref("Secret/c-1"): {}},
			},
			"Drifted\nreplace Secret/c-1",
		},
		"a StatefulSet that nobody can change is refused, unless its claims grow": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=2"), View: live.View{Objects: having("StatefulSet/c=1")},
				Immutable: apply.Immutables{ref("StatefulSet/c"): {Err: errors.New("updates to fields other than these are forbidden")}},
			},
			"Refused\nerror: updates to fields other than these are forbidden",
		},
		"the deployed StatefulSet is repaired with the sizes that a refused change gave its claims": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "StatefulSet/c=1"),
				View: live.View{Objects: with(having("StatefulSet/c=2 changed"), "StatefulSet/c", func(seen *live.Seen) { seen.UID = "1" })},
				Immutable: apply.Immutables{
					ref("StatefulSet/c"): {Live: setOf("1", "2Gi"), Wanted: setOf("", "1Gi"), Err: errors.New("forbidden")},
				},
			},
			"Drifted\nchange StatefulSet/c",
		},
		"another revision can have smaller claims if none of them has a volume": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: with(having("StatefulSet/c=2"), "StatefulSet/c", func(seen *live.Seen) { seen.UID = "1" })},
				Immutable: apply.Immutables{
					ref("StatefulSet/c"): {Live: setOf("1", "2Gi"), Wanted: setOf("", "1Gi"), Err: errors.New("forbidden")},
				},
			},
			"Upgrade\nreplace StatefulSet/c without its pods",
		},
		"another revision cannot have smaller claims": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=1"),
				View: live.View{Objects: with(having("StatefulSet/c=2"), "StatefulSet/c", func(seen *live.Seen) { seen.UID = "1" })},
				Immutable: apply.Immutables{
					ref("StatefulSet/c"): {Live: setOf("1", "2Gi"), Wanted: setOf("", "1Gi"), Err: errors.New("forbidden"), Claims: claimsOf("queue--0")},
				},
			},
			"Refused\nerror: spec.volumeClaimTemplates[0].spec.resources.requests.storage: " +
				"1Gi is less than before, and a claim cannot shrink; set it to 2Gi or more",
		},
		"a change that waits has what was not accepted before it taken back": {
			Situation{
				Deployed: "r1", Begun: true, ByOperator: true, Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Deployment/c=3")},
			},
			"Deferred, restores",
		},
		"a change that waits says that another workload still serves": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "StatefulSet/c=2"),
				View: live.View{Objects: with(having("StatefulSet/c=1", "Deployment/c=0"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 1 })},
			},
			"Deferred\nmessage: Deployment \"c\" serves until StatefulSet \"c\" does",
		},
		"what earlier pods mount stays until the workload serves, although no pod mounts it now": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "ServiceAccount/c=1", "Deployment/c=1"),
				View: live.View{Objects: with(having("ServiceAccount/old=1", "ServiceAccount/c=1", "Deployment/c=1"), "Deployment/c",
					func(seen *live.Seen) { seen.Replicas = 1 })},
			},
			"InSync",
		},
		"it goes at once if the workload makes new pods of those that go": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "ServiceAccount/c=1", "DaemonSet/c=1"),
				View: live.View{Objects: with(having("ServiceAccount/old=1", "ServiceAccount/c=1", "DaemonSet/c=1"), "DaemonSet/c",
					func(seen *live.Seen) { seen.Replicas = 1 })},
			},
			"InSync\ndelete ServiceAccount/old",
		},
		"it goes when the workload serves": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "ServiceAccount/c=1", "Deployment/c=1"),
				View: live.View{Objects: with(having("ServiceAccount/old=1", "ServiceAccount/c=1", "Deployment/c=1"), "Deployment/c",
					func(seen *live.Seen) { seen.Replicas, seen.Serves = 1, true })},
			},
			"InSync\ndelete ServiceAccount/old",
		},
		"nothing is pruned while a revision is restored": {
			Situation{
				Deployed: "r1", Restores: true, Want: wanted("r1", "Deployment/c=1"), View: live.View{Objects: having("Secret/c-2=2", "Deployment/c=2 changed")},
			},
			"Drifted\nchange Deployment/c",
		},
	}.run(t)
}
