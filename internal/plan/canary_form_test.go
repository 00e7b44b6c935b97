package plan

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
)

func TestTheFormOfACanaryChangesSomePodsOnly(t *testing.T) {
	surging := map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": "20%"}}}
	beside := map[string]any{"rollingUpdate": map[string]any{"maxSurge": int64(1)}}
	instead := map[string]any{"rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}}
	old := live.Pod{Template: "old", Ready: true, Since: noon.Add(-2 * time.Hour)}
	for name, row := range map[string]struct {
		kind   string
		fields map[string]any
		pods   intstr.IntOrString
		want   string
	}{
		"a Deployment has more pods, and none of them is ever available": {
			"Deployment", map[string]any{"replicas": int64(9), "minReadySeconds": int64(10), "strategy": beside}, intstr.FromString("26%"),
			`{"minReadySeconds":3000000,"progressDeadlineSeconds":2147483647,"replicas":4,` +
				`"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":0},"type":"RollingUpdate"}}`,
		},
		"the number of pods is left to an autoscaler": {
			"Deployment", map[string]any{"strategy": beside}, intstr.FromInt32(1), `{"minReadySeconds":3000000,"progressDeadlineSeconds":2147483647,` +
				`"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"RollingUpdate"}}`,
		},
		"with host ports, no pod can be beside another one": {
			"Deployment", map[string]any{"strategy": instead}, intstr.FromInt32(2), `{"minReadySeconds":3000000,"progressDeadlineSeconds":2147483647,` +
				`"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":2},"type":"RollingUpdate"}}`,
		},
		"the last pods of a StatefulSet change": {
			"StatefulSet", map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": int64(3)}}}, intstr.FromInt32(1),
			`{"updateStrategy":{"rollingUpdate":{"maxUnavailable":3,"partition":3},"type":"RollingUpdate"}}`,
		},
		"there are no more canary pods than pods": {
			"StatefulSet", nil, intstr.FromInt32(9), `{"updateStrategy":{"rollingUpdate":{"partition":0},"type":"RollingUpdate"}}`,
		},
		"a DaemonSet that surges has pods beside the others, which count as available as long as they were ready": {
			"DaemonSet", surging, intstr.FromInt32(2),
			`{"minReadySeconds":7020,"updateStrategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":0},"type":"RollingUpdate"}}`,
		},
		"another DaemonSet ends pods": {
			"DaemonSet", nil, intstr.FromInt32(1),
			`{"minReadySeconds":7020,"updateStrategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1},"type":"RollingUpdate"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := canaryOf(row.kind, row.fields, old)
			s.Canary.Pods = row.pods
			workload := s.Want.First(render.Workloads)
			form, err := s.form(workload, s.Canary.count(4), noon.Add(-before))
			if err != nil {
				t.Fatal(err)
			}
			spec, _ := form.Content.Object["spec"].(map[string]any)
			delete(spec, "template")
			got, _ := json.Marshal(spec)
			if string(got) != row.want || form.Hash == workload.Hash {
				t.Errorf("hash %s, %s, want %s", form.Hash, got, row.want)
			}
		})
	}
}

func TestACanaryFollowsTheNumberOfPods(t *testing.T) {
	s := begun(canaryOf("StatefulSet", nil, podSince(time.Minute)))
	s.View.Objects = with(s.View.Objects, "StatefulSet/c", func(seen *live.Seen) { seen.Replicas = 6 })
	p := Decide(s)
	if len(p.Groups) != 1 || p.Groups[0][0].Action != apply.Change {
		t.Fatalf("plan %s", brief(p))
	}
	partition, _, _ := unstructured.NestedInt64(p.Groups[0][0].Object.Content.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if partition != 5 {
		t.Errorf("partition %d, want 5", partition)
	}
}

func TestACanaryIsLookedAtAgainWhenItsProofCanEnd(t *testing.T) {
	p := Decide(begun(canaryOf("Deployment", nil, podSince(2*time.Minute))))
	want := v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-before))}
	if p.After != 3*time.Minute || *p.Canary != want {
		t.Errorf("after %s, %+v, want 3m, %+v", p.After, p.Canary, want)
	}
}

func TestAWaveHasTimeForTheProofOfADaemonSetWithTheDefaultHold(t *testing.T) {
	c := Canary{Hold: 5 * time.Minute}
	if longest := c.least() + c.Hold; longest != rollout.ProofTime {
		t.Errorf("a proof takes up to %s, and a wave allows %s", longest, rollout.ProofTime)
	}
}

func TestTheCanaryOfAStatefulSetHasRoomBesidePodsThatAreNotReady(t *testing.T) {
	old, down := live.Pod{Template: "old", Ready: true, Since: noon.Add(-2 * time.Hour)}, live.Pod{Template: "old", Since: noon.Add(-time.Hour)}
	for name, row := range map[string]struct {
		asked any
		pods  []live.Pod
		want  any
	}{
		"none is asked for, and all are ready":   {nil, []live.Pod{old}, nil},
		"one is not ready":                       {nil, []live.Pod{old, down}, int64(2)},
		"beside what the user allows":            {int64(3), []live.Pod{old, down}, int64(4)},
		"beside a percentage that rounds up":     {"30%", []live.Pod{old, down}, int64(3)},
		"what the user allows, if all are ready": {"30%", []live.Pod{old}, "30%"},
	} {
		rolling := map[string]any{}
		if row.asked != nil {
			rolling["maxUnavailable"] = row.asked
		}
		s := canaryOf("StatefulSet", map[string]any{"updateStrategy": map[string]any{"rollingUpdate": rolling}}, row.pods...)
		form, err := s.form(s.Want.First(render.Workloads), 1, noon.Add(-before))
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := unstructured.NestedFieldNoCopy(form.Content.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
		if got != row.want {
			t.Errorf("%s: maxUnavailable %v, want %v", name, got, row.want)
		}
	}
}

func TestTheCanaryOfADaemonSetHasRoomBesidePodsThatItsControllerReplacesAtOnce(t *testing.T) {
	old := live.Pod{Template: "old", Ready: true, Since: noon.Add(-2 * time.Hour)}
	down, late := live.Pod{Template: "old", Since: noon.Add(-time.Hour)}, live.Pod{Template: "old", Since: noon}
	ending, changed := down, live.Pod{Template: "new", Since: noon.Add(-time.Hour)}
	ending.Deleting = true
	orphan := down
	orphan.Orphan = true
	for name, row := range map[string]struct {
		pods  []live.Pod
		surge int64
		want  map[string]any
	}{
		"one that was not ready before the proof began":  {[]live.Pod{old, down}, 0, limits(2, false)},
		"one that cannot end, as on a node that is down": {[]live.Pod{old, ending}, 0, limits(2, false)},
		"none that is not ready since it began":          {[]live.Pod{old, late}, 0, limits(1, false)},
		"none that has the change":                       {[]live.Pod{old, changed}, 0, limits(1, false)},
		"none that has lost its StatefulSet":             {[]live.Pod{old, orphan}, 0, limits(1, false)},
		"none where pods surge, which takes no room":     {[]live.Pod{old, down}, 1, limits(1, true)},
	} {
		surge := map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": row.surge}}}
		s := canaryOf("DaemonSet", surge, row.pods...)
		form, err := s.form(s.Want.First(render.Workloads), 1, noon.Add(-before))
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := unstructured.NestedMap(form.Content.Object, "spec", "updateStrategy", "rollingUpdate")
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
