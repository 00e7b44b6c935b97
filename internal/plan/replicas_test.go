package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
)

// pods sets how many pods a workload of a view is to have. All of them are available.
func pods(view map[live.Reference]live.Seen, what string, number int32) map[live.Reference]live.Seen {
	return with(view, what, func(seen *live.Seen) { seen.Replicas, seen.Serves = number, true })
}

func TestDecideHowManyPodsAWorkloadHas(t *testing.T) {
	leftAgain := func(deployment string) map[live.Reference]live.Seen {
		return pods(pods(having(deployment, "StatefulSet/c=1"), "Deployment/c", 2), "StatefulSet/c", 10)
	}
	const serves = "\n" + `message: StatefulSet "c" serves until Deployment "c" does`
	decisions{
		"a workload that was scaled to 0 gets the pods that its autoscaler does not make": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1+min2"),
				View: live.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 0)},
			},
			"Drifted\nchange Deployment/c with 2 pods, risen",
		},
		"not one that an autoscaler may scale to 0": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1"),
				View: live.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 0)},
			},
			"InSync",
		},
		"not one that has pods": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1", "HorizontalPodAutoscaler/c=1+min2"),
				View: live.View{Objects: pods(having("Deployment/c=1", "HorizontalPodAutoscaler/c=1"), "Deployment/c", 1)},
			},
			"InSync",
		},
		"a workload gets fewer pods when all else is accepted": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas", "Ingress/c=1"),
				View: live.View{Objects: pods(having("Deployment/c=1"), "Deployment/c", 10)},
			},
			"Upgrade\ntry Deployment/c\ncreate Ingress/c\nchange Deployment/c",
		},
		"a workload gets more pods in its turn": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas", "Ingress/c=1"),
				View: live.View{Objects: pods(having("Deployment/c=1"), "Deployment/c", 0)},
			},
			"Upgrade\ntry Ingress/c\nchange Deployment/c\ncreate Ingress/c",
		},
		"a lost workload comes back in its turn": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1+replicas", "Ingress/c=1"),
				View: live.View{Objects: pods(having("Deployment/c=1 lost", "Ingress/c=1 lost"), "Deployment/c", 10)},
			},
			"Drifted\ncreate Deployment/c\ncreate Ingress/c",
		},
		"a workload that was deleted while no operator ran has as many pods as the status tells of": {
			Situation{Deployed: "r1", Want: wanted("r1", "Deployment/c=1"), View: live.View{Objects: having()}, Pods: 10},
			"Drifted\ncreate Deployment/c with 10 pods",
		},
		"what is known of a workload is newer than the status": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1"), Pods: 10,
				View: live.View{Objects: pods(having("Deployment/c=1 lost"), "Deployment/c", 4)},
			},
			"Drifted\ncreate Deployment/c with 4 pods",
		},
		"a workload that says how many pods it has does not ask the status": {
			Situation{Deployed: "r1", Want: wanted("r1", "Deployment/c=1+replicas"), View: live.View{Objects: having()}, Pods: 10},
			"Drifted\ncreate Deployment/c",
		},
		"a workload that comes back gets as many pods as the one that goes, which stays until they serve": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: live.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and also if it changes": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=3"), View: live.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and if an operator that has just started finds all applied": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: live.View{Objects: leftAgain("Deployment/c=1 unknown")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"and while the informer cache does not show it": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1"), View: live.View{Objects: leftAgain("Deployment/c=1 stale")}},
			"Upgrade\nchange Deployment/c with 10 pods, risen" + serves,
		},
		"but not if it says how many it has": {
			Situation{Deployed: "r2", Want: wanted("r3", "Deployment/c=1+replicas"), View: live.View{Objects: leftAgain("Deployment/c=1")}},
			"Upgrade\ndelete StatefulSet/c",
		},
		"once, because the number is an autoscaler's when the change is done": {
			Situation{Deployed: "r3", Want: wanted("r3", "Deployment/c=1"), View: live.View{Objects: leftAgain("Deployment/c=1")}},
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
		if _, got := Unchanged(Remembered{
			Now: noon, Until: noon.Add(time.Hour), Objects: pods(having(row.objects...), "Deployment/c", row.number),
		}); got != row.want {
			t.Errorf("%s: unchanged %t, want %t", name, got, row.want)
		}
	}
}

func TestDecideAboutAnAutoscalerOfAnotherClient(t *testing.T) {
	const by = `HorizontalPodAutoscaler "own"`
	const told = "\n" + `message: HorizontalPodAutoscaler "own" sets the number of pods of Deployment "c", so the operator leaves it alone; ` +
		`set spec.autoscaling.external to true, or delete HorizontalPodAutoscaler "own"`
	sets := wanted("r1", "Deployment/c=1+replicas")
	left, err := sets.Objects[0].WithoutReplicas()
	if err != nil {
		t.Fatal(err)
	}
	scaled := func(deployment, more string) map[live.Reference]live.Seen {
		view := pods(having(deployment), "Deployment/c", 5)
		return with(view, "Deployment/c", func(seen *live.Seen) {
			if seen.OwnsReplicas = false; more == "left" {
				seen.Hash = left.Hash
			}
		})
	}
	decisions{
		"the number of pods is left to it": {
			Situation{
				Deployed: "r1", Want: sets, ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c=1 changed", "")},
			},
			"Drifted\nchange Deployment/c with 5 pods, leaving replicas" + told,
		},
		"also of a workload that was fought over": {
			Situation{
				Now: noon, Deployed: "r1", Want: sets, ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c=1 contested", "")},
			},
			"Drifted\nchange Deployment/c with 5 pods, leaving replicas" + told,
		},
		"and stays left to it": {
			Situation{
				Deployed: "r1", Want: sets, ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c", "left")},
			},
			"InSync" + told,
		},
		"another change is brought back": {
			Situation{
				Deployed: "r1", Want: sets, ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c changed", "left")},
			},
			"Drifted\nchange Deployment/c with 5 pods" + told,
		},
		"another revision leaves it, too": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas"), ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c=1", "")},
			},
			"Upgrade\nchange Deployment/c with 5 pods, leaving replicas" + told,
		},
		"a workload that was deleted gets the pods that it had": {
			Situation{
				Deployed: "r1", Want: sets, ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c lost", "left")},
			},
			"Drifted\ncreate Deployment/c with 5 pods" + told,
		},
		"the deployed revision is mended without it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2+replicas"), Refusal: errors.New("exceeded quota"),
				ScaledBy: by, Scaled: ref("Deployment/c"), Accepted: &Accepted{Want: sets, Recorded: sets},
				View: live.View{Objects: scaled("Deployment/c=1 changed", "")},
			},
			"Refused, restores\nmend: change Deployment/c with 5 pods, leaving replicas" + told + "\nerror: exceeded quota",
		},
		"once it is gone, the number is brought back": {
			Situation{Deployed: "r1", Want: sets, View: live.View{Objects: scaled("Deployment/c", "left")}},
			"Drifted\nchange Deployment/c",
		},
		"a workload of another kind is not its target": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=1+replicas"), ScaledBy: by, Scaled: ref("Deployment/c"),
				View: live.View{Objects: scaled("Deployment/c", "left")},
			},
			"Upgrade\ncreate StatefulSet/c\n" + `message: Deployment "c" serves until StatefulSet "c" does`,
		},
	}.run(t)
}

func TestOnlyAWorkloadWhosePodsAnotherClientCountsMayHaveAnAutoscaler(t *testing.T) {
	owned := with(having("Deployment/c=1"), "Deployment/c", func(seen *live.Seen) { seen.OwnsReplicas = true })
	sets, leaves := wanted("r1", "Deployment/c=1+replicas"), wanted("r1", "Deployment/c=1")
	for name, row := range map[string]struct {
		s    Situation
		want bool
	}{
		"another client has set the number":          {Situation{Want: sets, View: live.View{Objects: having("Deployment/c=1 changed")}}, true},
		"the operator has set it":                    {Situation{Want: sets, View: live.View{Objects: owned}}, false},
		"the revision leaves it to an autoscaler":    {Situation{Want: leaves, View: live.View{Objects: having("Deployment/c=1")}}, false},
		"there is no workload yet":                   {Situation{Want: sets}, false},
		"nothing is rendered, and nothing recalled":  {Situation{View: live.View{Objects: having("Deployment/c=1 changed")}}, false},
		"only the deployed revision sets the number": {Situation{Accepted: &Accepted{Want: sets}, View: live.View{Objects: having("Deployment/c=1 changed")}}, true},
	} {
		if _, may := row.s.MayBeScaled(); may != row.want {
			t.Errorf("%s: %t", name, may)
		}
	}
}

// The informer cache shows only what has the label. The API server has said that the StatefulSet is there.
func TestDecideWithAStatefulSetThatHasLostItsLabel(t *testing.T) {
	lost := with(having("StatefulSet/c=1"), "StatefulSet/c", func(seen *live.Seen) { seen.UID, seen.State = "1", live.Lost })
	immutable := apply.Immutables{ref("StatefulSet/c"): {Live: setOf("1", "1Gi"), Wanted: setOf("", "2Gi"), Err: errors.New("forbidden")}}
	decisions{
		"it is replaced if its claims grow": {
			Situation{Deployed: "r1", Want: wanted("r2", "StatefulSet/c=2"), View: live.View{Objects: lost}, Immutable: immutable},
			"Upgrade\nreplace StatefulSet/c without its pods",
		},
		"it is created as long as the API server has said nothing": {
			Situation{Deployed: "r1", Want: wanted("r2", "StatefulSet/c=2"), View: live.View{Objects: lost}}, "Upgrade\ncreate StatefulSet/c",
		},
	}.run(t)
}
