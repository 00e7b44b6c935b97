package plan

import (
	"testing"

	"github.com/kube8/kube8-operator/internal/live"
)

func TestWhatWaitsToBePruned(t *testing.T) {
	secret, workload := ref("Secret/old"), ref("Deployment/c")
	for name, row := range map[string]struct {
		found map[live.Reference]live.Object
		used  map[string]bool
		want  bool
	}{
		"nobody uses it":   {map[live.Reference]live.Object{secret: {}, workload: {Replicas: 1, Serves: true}}, nil, true},
		"a pod uses it":    {map[live.Reference]live.Object{secret: {}}, used("Secret/old"), false},
		"it is on its way": {map[live.Reference]live.Object{secret: {Deleting: true}}, nil, false},
		"it has gone":      {map[live.Reference]live.Object{}, nil, true},
		"an earlier pod may come back and use it": {map[live.Reference]live.Object{secret: {}, workload: {Replicas: 1}}, nil, false},
		"a StatefulSet makes pods below its partition of an earlier revision": {
			map[live.Reference]live.Object{secret: {}, ref("StatefulSet/c"): {Replicas: 2, Serves: true, Partition: 1}}, nil, false,
		},
		"there are no pods that could come back to it": {map[live.Reference]live.Object{secret: {}, workload: {}}, nil, true},
	} {
		if got := MayPrune(map[live.Reference]bool{secret: true}, row.found, row.used); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestADaemonSetWhoseNodesAreNotCountedServesUntilAnotherWorkloadDoes(t *testing.T) {
	for name, change := range map[string]func(*live.Seen){
		"its controller has not counted":          func(seen *live.Seen) { seen.Uncounted = true },
		"the informer cache does not show it yet": func(seen *live.Seen) { seen.State = live.Stale },
	} {
		p := Decide(Situation{
			Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), History: 2,
			View: live.View{Objects: with(having("DaemonSet/c=1"), "DaemonSet/c", change)},
		})
		if want := "DaemonSet \"c\" serves until Deployment \"c\" does"; p.Message != want || len(p.Deletes) > 0 {
			t.Errorf("%s: %s, want message %q", name, brief(p), want)
		}
	}
}
