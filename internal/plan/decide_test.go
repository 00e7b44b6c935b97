package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ref returns the reference to an object, such as "Secret/a".
func ref(text string) live.Reference {
	kind, name, _ := strings.Cut(text, "/")
	return live.NewReference(schema.GroupVersionKind{Version: "v1", Kind: kind}, name)
}

// wanted returns what a Collector is to become: objects such as "Secret/a=1", where 1 is the hash. After the hash "+excludes", and
// "+replicas" for one pod, can follow.
func wanted(hash string, objects ...string) Want {
	want := Want{Hash: hash}
	for _, text := range objects {
		text, isReplicas := strings.CutSuffix(text, "+replicas")
		text, isExclusive := strings.CutSuffix(text, "+excludes")
		text, isAutoscaler := strings.CutSuffix(text, "+min2")
		what, hash, _ := strings.Cut(text, "=")
		object := render.Object{Ref: ref(what), Hash: hash, SetsReplicas: isReplicas, Excludes: isExclusive}
		object.Stage = render.StageOf(object.Ref.Kind().Kind)
		object.Content = &unstructured.Unstructured{Object: map[string]any{}}
		if isReplicas {
			object.Content.Object["spec"] = map[string]any{"replicas": 1.}
		}
		if isAutoscaler {
			object.Content.Object["spec"] = map[string]any{"minReplicas": int64(2)}
		}
		object.Content.SetNamespace("acme")
		want.Objects = append(want.Objects, object)
	}
	return want
}

// having returns what a Collector has: objects such as "Secret/a=1", in order unless the text says another state after a space.
func having(objects ...string) map[live.Reference]live.Seen {
	states := map[string]live.State{
		"": live.InOrder, "unknown": live.Unknown, "stale": live.Stale, "changed": live.Changed,
		"contested": live.Contested, "lost": live.Lost, "deleting": live.Deleting,
	}
	all := map[live.Reference]live.Seen{}
	for i, text := range objects {
		text, state, _ := strings.Cut(text, " ")
		what, hash, _ := strings.Cut(text, "=")
		found := live.Object{
			UID: types.UID("uid-of-" + what), Hash: hash, Version: strconv.Itoa(100 + i), Created: noon.Add(time.Duration(i) * time.Minute), Editor: "rival",
		}
		all[ref(what)] = live.Seen{Object: found, State: states[state], Next: noon.Add(time.Minute)}
	}
	return all
}

// with changes one object of a view.
func with(view map[live.Reference]live.Seen, what string, change func(*live.Seen)) map[live.Reference]live.Seen {
	seen := view[ref(what)]
	change(&seen)
	view[ref(what)] = seen
	return view
}

// held has a finalizer keep one object of a view.
func held(view map[live.Reference]live.Seen, what string) map[live.Reference]live.Seen {
	return with(view, what, func(seen *live.Seen) { seen.Finalizers = []string{"example.com/held"} })
}

// setOf returns a StatefulSet whose claims have a size.
func setOf(uid types.UID, size string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	queue := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "queue"}}
	queue.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, queue)
	return set
}

// claimsOf returns claims that have a volume.
func claimsOf(names ...string) (claims []corev1.PersistentVolumeClaim) {
	for _, name := range names {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.VolumeName = "pv"
		claims = append(claims, claim)
	}
	return claims
}

func used(names ...string) live.Used { return live.UsedBy(cache.UsesOf(names)) }

// brief writes a plan: the verdict, and a line for each group of steps.
func brief(p Plan) string {
	lines := []string{string(p.Verdict)}
	if p.Restores {
		lines[0] += ", restores"
	}
	for _, group := range slices.Concat([][]apply.Step{p.Orphans, p.Tries}, p.Groups, [][]apply.Step{p.Deletes}) {
		lines = append(lines, told("", group)...)
	}
	for _, group := range slices.Concat(p.Mends, [][]apply.Step{p.MendDeletes}) {
		lines = append(lines, told("mend: ", group)...)
	}
	if p.Message != "" {
		lines = append(lines, "message: "+p.Message)
	}
	if p.Err != nil {
		lines = append(lines, "error: "+p.Err.Error())
	}
	if p.Unmended != nil {
		lines = append(lines, "unmended: "+p.Unmended.Error())
	}
	return strings.Join(lines, "\n")
}

// told writes a group of steps, or nothing without one.
func told(prefix string, groups ...[]apply.Step) (lines []string) {
	for _, group := range slices.DeleteFunc(groups, func(group []apply.Step) bool { return len(group) == 0 }) {
		var steps []string
		for _, step := range group {
			line := string(step.Action) + " " + step.Ref.Use()
			if step.Retains {
				line += " without its claims"
			}
			if step.Replicas > 0 {
				line += fmt.Sprintf(" with %d pods", step.Replicas)
			}
			if step.ScalesUp {
				line += ", risen"
			}
			if step.HandsOver {
				line += ", handing over replicas"
			}
			if step.Leaves {
				line += ", leaving replicas"
			}
			if step.Old != nil && step.Old.Ref != step.Ref {
				line += " in place of " + step.Old.Ref.Use()
			}
			if step.Old != nil && step.Old.Orphan {
				line += " without its pods"
			}
			steps = append(steps, line)
		}
		lines = append(lines, prefix+strings.Join(steps, ", "))
	}
	return lines
}

// decisions are situations, and the plans that are decided for them.
type decisions map[string]struct {
	situation Situation
	want      string
}

func (rows decisions) run(t *testing.T) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, brief(Decide(row.situation))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	serving := having("ServiceAccount/c=1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")
	decisions{
		"nothing is done while all is in order": {
			Situation{Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1"), View: live.View{Objects: having("Secret/c-1=1", "Deployment/c=1")}},
			"InSync",
		},
		"a first revision is created in stages, and nothing is tried before": {
			Situation{Want: wanted("r1", "Service/c=1", "Secret/c-1=1", "HorizontalPodAutoscaler/c=1", "Deployment/c=1")},
			"Install\ncreate Secret/c-1\ncreate Service/c\ncreate Deployment/c\ncreate HorizontalPodAutoscaler/c",
		},
		"a first revision is tried before, once something of somebody else was in the way": {
			Situation{Conflicted: true, Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1")},
			"Install\ntry Secret/c-1, try Deployment/c\ncreate Secret/c-1\ncreate Deployment/c",
		},
		"all but the first change of what serves are tried before": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-1=1", "Service/c=2", "Deployment/c=2", "NetworkPolicy/c=1"),
				View: live.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Upgrade\ntry Service/c, try NetworkPolicy/c, try Deployment/c\nchange ServiceAccount/c\nchange Service/c, create NetworkPolicy/c\nchange Deployment/c",
		},
		"what somebody has changed or deleted is repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Secret/c-1=1", "Service/c=1 lost", "Deployment/c=1 changed")},
			},
			"Drifted\ncreate Service/c\nchange Deployment/c",
		},
		"after a start with objects that are not those of the status all are applied": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Service/c=1 unknown", "Deployment/c=1 unknown")},
			},
			"Drifted\nchange Service/c\nchange Deployment/c",
		},
		"what the informer cache does not show yet is left alone": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Service/c=1 stale", "Deployment/c=1")},
			},
			"InSync",
		},
		"an object that is changed again and again waits for its repair": {
			Situation{
				Now: noon, Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1 contested")},
			},
			`InSync` + "\n" + `message: rival changes Deployment "c" again and again, so the operator repairs it less and less often`,
		},
		"a contested object takes another revision at once": {
			Situation{
				Now: noon, Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Deployment/c=1 contested")},
			},
			"Upgrade\nchange Deployment/c\n" + `message: rival changes Deployment "c" again and again, so the operator repairs it less and less often`,
		},
		"an object in deletion is waited for, and named": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "PersistentVolumeClaim/c-a=1", "Deployment/c=1"),
				View: live.View{Objects: with(having("PersistentVolumeClaim/c-a=1 deleting", "Deployment/c=1"), "PersistentVolumeClaim/c-a",
					func(seen *live.Seen) { seen.Finalizers = []string{"kubernetes.io/pvc-protection"} })},
			},
			`InSync` + "\n" + `message: PersistentVolumeClaim "c-a" is being deleted, and held by finalizers kubernetes.io/pvc-protection; ` +
				`the operator creates it again when it has gone`,
		},
	}.run(t)
}

func TestAPlanSaysWhenToLookAgain(t *testing.T) {
	for name, row := range map[string]struct {
		object string
		want   time.Duration
	}{
		"never, if something happens first":              {"Service/c=1", 0},
		"when the informer cache should have caught up":  {"Service/c=1 stale", live.CacheDelay},
		"when a contested object may be repaired":        {"Service/c=1 contested", time.Minute},
		"never for an object in deletion: its end tells": {"Service/c=1 deleting", 0},
	} {
		p := Decide(Situation{Now: noon, Deployed: "r1", Want: wanted("r1", "Service/c=1"), View: live.View{Objects: having(row.object)}})
		if p.After != row.want {
			t.Errorf("%s: after %s, want %s", name, p.After, row.want)
		}
	}
	waits := Situation{Now: noon, Deployed: "r1", ByOperator: true, Want: wanted("r2", "Service/c=2"), View: live.View{Objects: having("Service/c=1 stale")}}
	if p := Decide(waits); p.Verdict != Deferred || p.After != live.CacheDelay {
		t.Errorf("while a change waits: %s after %s, want %s", p.Verdict, p.After, live.CacheDelay)
	}
}

func TestAStepSaysWhatItDoesAndWhy(t *testing.T) {
	p := Decide(Situation{Deployed: "r1", Want: wanted("r1", "Service/c=1"), View: live.View{Objects: having("Service/c=1 changed")}})
	if got, want := p.Groups[0][0].String(), `change Service "c" (rival has changed it)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if p.Groups[0][0].UID != "uid-of-Service/c" || p.Groups[0][0].Action != apply.Change {
		t.Errorf("plan %+v", p)
	}
}
