package plan

import (
	"testing"

	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
)

// pods sets how many pods a workload of a view is to have. All of them are available.
func pods(view map[inventory.Reference]drift.Seen, what string, number int32) map[inventory.Reference]drift.Seen {
	return with(view, what, func(seen *drift.Seen) { seen.Replicas, seen.Serves = number, true })
}

func TestDecideHowManyPodsAWorkloadHas(t *testing.T) {
	leftAgain := func(deployment string) map[inventory.Reference]drift.Seen {
		return pods(pods(having(deployment, "StatefulSet/c=1"), "Deployment/c", 2), "StatefulSet/c", 10)
	}
	const serves = "\n" + `message: StatefulSet "c" serves until Deployment "c" does`
	decisions{
		"a workload that was scaled to 0 gets the pods that its autoscaler does not make": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1+min2"),
				View: drift.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 0)},
			},
			"Drifted\nchange Deployment/c with 2 pods, risen",
		},
		"not one that an autoscaler may scale to 0": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1"),
				View: drift.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 0)},
			},
			"InSync",
		},
		"not one that has pods": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1+min2"),
				View: drift.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 1)},
			},
			"InSync",
		},
		"a workload gets fewer pods when all else is accepted": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas", "Ingress/c=1"),
				View: drift.View{Objects: pods(having("Deployment/c=1"), "Deployment/c", 10)},
			},
			"Upgrade\ntry Deployment/c\ncreate Ingress/c\nchange Deployment/c",
		},
		"a workload gets more pods in its turn": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas", "Ingress/c=1"),
				View: drift.View{Objects: pods(having("Deployment/c=1"), "Deployment/c", 0)},
			},
			"Upgrade\ntry Ingress/c\nchange Deployment/c\ncreate Ingress/c",
		},
		"a lost workload comes back in its turn": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1+replicas", "Ingress/c=1"),
				View: drift.View{Objects: pods(having("Deployment/c=1 lost", "Ingress/c=1 lost"), "Deployment/c", 10)},
			},
			"Drifted\ncreate Deployment/c\ncreate Ingress/c",
		},
		"a workload that was deleted while no operator ran has as many pods as the status tells of": {
			Situation{Deployed: "r1", Want: wanted("r1", "Deployment/c=1"), View: drift.View{Objects: having()}, Pods: 10},
			"Drifted\ncreate Deployment/c with 10 pods",
		},
		"what is known of a workload is newer than the status": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1"), Pods: 10,
				View: drift.View{Objects: pods(having("Deployment/c=1 lost"), "Deployment/c", 4)},
			},
			"Drifted\ncreate Deployment/c with 4 pods",
		},
		"a workload that says how many pods it has does not ask the status": {
			Situation{Deployed: "r1", Want: wanted("r1", "Deployment/c=1+replicas"), View: drift.View{Objects: having()}, Pods: 10},
			"Drifted\ncreate Deployment/c",
		},
		"a workload that comes back gets as many pods as the one that goes, which stays until they serve": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: drift.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and also if it changes": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=3"), View: drift.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and if an operator that has just started finds all applied": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: drift.View{Objects: leftAgain("Deployment/c=1 unknown")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and while the informer cache does not show it": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: drift.View{Objects: leftAgain("Deployment/c=1 behind")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"but not if it says how many it has": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1+replicas"), View: drift.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\ndelete StatefulSet/c",
		},
		"once, because the number is an autoscaler's when the change is done": {
			Situation{Deployed: "r3", Want: wanted("r3", "Deployment/c=1"), View: drift.View{Objects: leftAgain("Deployment/c=1")}},
			"InSync\ndelete StatefulSet/c",
		},
	}.run(t)
}

func TestAWorkloadThatWasScaledToZeroIsLookedAtIfItHasAnAutoscaler(t *testing.T) {
	for name, row := range map[string]struct {
		objects []string
		number  int32
		want    bool
	}{
		"no pods, and an autoscaler":      {[]string{"Deployment/c=1", "HorizontalPodAutoscaler/c=1"}, 0, false},
		"pods, and an autoscaler":         {[]string{"Deployment/c=1", "HorizontalPodAutoscaler/c=1"}, 1, true},
		"no pods, as the spec says":       {[]string{"Deployment/c=1"}, 0, true},
		"no pods, and KEDA's autoscaling": {[]string{"Deployment/c=1", "ScaledObject/c=1"}, 0, true},
	} {
		if _, got := Unchanged(pods(having(row.objects...), "Deployment/c", row.number), nil, noon); got != row.want {
			t.Errorf("%s: unchanged %t, want %t", name, got, row.want)
		}
	}
}
