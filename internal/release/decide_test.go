package release

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/render"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ref returns the reference to an object, such as "Secret/a".
func ref(text string) inventory.Reference {
	kind, name, _ := strings.Cut(text, "/")
	return inventory.NewReference(schema.GroupVersionKind{Version: "v1", Kind: kind}, name)
}

// wanted returns what a Collector is to become: objects such as "Secret/a=1", where 1 is the hash. After the hash "+replicas" and
// "+excludes" can follow.
func wanted(hash string, objects ...string) Want {
	want := Want{Hash: hash}
	for _, text := range objects {
		text, isReplicas := strings.CutSuffix(text, "+replicas")
		text, isExclusive := strings.CutSuffix(text, "+excludes")
		what, hash, _ := strings.Cut(text, "=")
		object := render.Object{Ref: ref(what), Hash: hash, SetsReplicas: isReplicas, Excludes: isExclusive}
		object.Stage = render.StageOf(object.Ref.Kind().Kind)
		object.Content = &unstructured.Unstructured{Object: map[string]any{}}
		object.Content.SetNamespace("acme")
		want.Objects = append(want.Objects, object)
	}
	return want
}

// having returns what a Collector has: objects such as "Secret/a=1", in order unless the text says another state after a space.
func having(objects ...string) map[inventory.Reference]inventory.Seen {
	states := map[string]inventory.State{
		"": inventory.InOrder, "unknown": inventory.Unknown, "behind": inventory.Behind, "changed": inventory.Changed,
		"contested": inventory.Contested, "lost": inventory.Lost, "deleting": inventory.Deleting,
	}
	all := map[inventory.Reference]inventory.Seen{}
	for i, text := range objects {
		text, state, _ := strings.Cut(text, " ")
		what, hash, _ := strings.Cut(text, "=")
		found := inventory.Object{
			UID: types.UID("uid-of-" + what), Hash: hash, Version: fmt.Sprint(100 + i), Created: noon.Add(time.Duration(i) * time.Minute), Editor: "rival",
		}
		all[ref(what)] = inventory.Seen{Object: found, State: states[state], Next: noon.Add(time.Minute)}
	}
	return all
}

// with changes one object of a view.
func with(view map[inventory.Reference]inventory.Seen, what string, change func(*inventory.Seen)) map[inventory.Reference]inventory.Seen {
	seen := view[ref(what)]
	change(&seen)
	view[ref(what)] = seen
	return view
}

func used(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// brief writes a plan: the verdict, and a line for each group of steps.
func brief(p Plan) string {
	text := string(p.Verdict)
	if p.Restores {
		text += ", restores"
	}
	for _, group := range p.Groups {
		var steps []string
		for _, step := range group {
			line := string(step.Action) + " " + step.Ref.Use()
			if step.Replicas > 0 {
				line += fmt.Sprintf(" with %d pods", step.Replicas)
			}
			if step.HandsOver {
				line += ", handing over replicas"
			}
			if step.Old != nil && step.Old.Ref != step.Ref {
				line += " in place of " + step.Old.Ref.Use()
			}
			if step.Old != nil && step.Old.Orphan {
				line += " without its pods"
			}
			steps = append(steps, line)
		}
		text += "\n" + strings.Join(steps, ", ")
	}
	if p.Obstacle != "" {
		text += "\nobstacle: " + p.Obstacle
	}
	if p.Err != nil {
		text += "\nerror: " + p.Err.Error()
	}
	return text
}

func TestDecide(t *testing.T) {
	serving := having("ServiceAccount/c=1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")
	ended := func(state batchv1.JobConditionType, reason, message string) func(*inventory.Seen) {
		return func(seen *inventory.Seen) {
			seen.Ended = batchv1.JobCondition{Type: state, Reason: reason, Message: message}
		}
	}
	for name, row := range map[string]struct {
		situation Situation
		want      string
	}{
		"nothing is done while all is in order": {
			Situation{Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1"), View: inventory.View{Objects: having("Secret/c-1=1", "Deployment/c=1")}},
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
		"a changed configuration is a new Secret and the workload, and needs no dry run": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=1", "Secret/c-2=2", "Service/c=1", "Deployment/c=2"),
				View: inventory.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Upgrade\ncreate Secret/c-2\nchange Deployment/c",
		},
		"all but the first change of what serves are tried before": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-1=1", "Service/c=2", "Deployment/c=2", "NetworkPolicy/c=1"),
				View: inventory.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Upgrade\ntry Service/c, try NetworkPolicy/c, try Deployment/c\nchange ServiceAccount/c\nchange Service/c, create NetworkPolicy/c\nchange Deployment/c",
		},
		"what somebody has changed or deleted is repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1"),
				View: inventory.View{Objects: having("Secret/c-1=1", "Service/c=1 lost", "Deployment/c=1 changed")},
			},
			"Drifted\ncreate Service/c\nchange Deployment/c",
		},
		"after a start with objects that are not those of the status all are applied": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: inventory.View{Objects: having("Service/c=1 unknown", "Deployment/c=1 unknown")},
			},
			"Drifted\nchange Service/c\nchange Deployment/c",
		},
		"what the informer cache does not show yet is left alone": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: inventory.View{Objects: having("Service/c=1 behind", "Deployment/c=1")},
			},
			"InSync",
		},
		"an object that is changed again and again waits for its repair": {
			Situation{
				Now: noon, Deployed: "r1", Want: wanted("r1", "Service/c=1", "Deployment/c=1"),
				View: inventory.View{Objects: having("Service/c=1", "Deployment/c=1 contested")},
			},
			`InSync` + "\n" + `obstacle: rival changes Deployment "c" again and again, so the operator repairs it less and less often`,
		},
		"a contested object takes another revision at once": {
			Situation{
				Now: noon, Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), View: inventory.View{Objects: having("Deployment/c=1 contested")},
			},
			"Upgrade\nchange Deployment/c\n" + `obstacle: rival changes Deployment "c" again and again, so the operator repairs it less and less often`,
		},
		"an object in deletion is waited for, and named": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "PersistentVolumeClaim/c-a=1", "Deployment/c=1"),
				View: inventory.View{Objects: with(having("PersistentVolumeClaim/c-a=1 deleting", "Deployment/c=1"), "PersistentVolumeClaim/c-a",
					func(seen *inventory.Seen) { seen.Finalizers = []string{"kubernetes.io/pvc-protection"} })},
			},
			`InSync` + "\n" + `obstacle: PersistentVolumeClaim "c-a" is being deleted, and held by finalizers kubernetes.io/pvc-protection; ` +
				`the operator creates it again when it has gone`,
		},
		"the number of pods is handed over when an autoscaler gets it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2", "HorizontalPodAutoscaler/c=1"),
				View: inventory.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *inventory.Seen) { seen.OwnsReplicas = true })},
			},
			"Upgrade\ntry HorizontalPodAutoscaler/c\nchange Deployment/c, handing over replicas\ncreate HorizontalPodAutoscaler/c",
		},
		"a number of pods that a new workload began with is handed over later": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Deployment/c=1"),
				View: inventory.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *inventory.Seen) { seen.OwnsReplicas = true })},
			},
			"Drifted\nchange Deployment/c, handing over replicas",
		},
		"a workload of another kind begins with as many pods, and the old one stays with all that it has": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-1=1", "StatefulSet/c=1"),
				View: inventory.View{
					Objects: with(having("Secret/c-1=1", "Service/c-old=1", "Deployment/c=1"), "Deployment/c", func(seen *inventory.Seen) { seen.Replicas = 4 }),
					Used:    used("Secret/c-1"),
				},
			},
			"Upgrade\ncreate StatefulSet/c with 4 pods\n" + `obstacle: Deployment "c" serves until StatefulSet "c" does`,
		},
		"the old workload goes when the new one serves": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "Secret/c-1=1", "StatefulSet/c=1"),
				View: inventory.View{
					Objects: with(with(having("Secret/c-1=1", "Service/c-old=1", "Deployment/c=1", "StatefulSet/c=1"),
						"Deployment/c", func(seen *inventory.Seen) { seen.Replicas = 4 }), "StatefulSet/c", func(seen *inventory.Seen) { seen.Serves = true }),
					Used: used("Secret/c-1"),
				},
			},
			"InSync\ndelete Deployment/c, delete Service/c-old",
		},
		"the old workload goes at once where both cannot run beside each other": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "DaemonSet/c=1+excludes"),
				View: inventory.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *inventory.Seen) { seen.Replicas = 4 })},
			},
			"Upgrade\ncreate DaemonSet/c\ndelete Deployment/c",
		},
		"a workload that says how many pods it has begins with these": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=1+replicas"),
				View: inventory.View{Objects: with(having("Deployment/c=1"), "Deployment/c", func(seen *inventory.Seen) { seen.Replicas = 4 })},
			},
			"Upgrade\ncreate StatefulSet/c\n" + `obstacle: Deployment "c" serves until StatefulSet "c" does`,
		},
		"an autoscaler takes the place of one of another kind": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=1", "ScaledObject/c=1"),
				View: inventory.View{Objects: having("Deployment/c=1", "HorizontalPodAutoscaler/c=1")},
			},
			"Upgrade\nreplace ScaledObject/c in place of HorizontalPodAutoscaler/c",
		},
		"what is no longer rendered goes when no pod uses it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/d=1", "Deployment/c=2"),
				View: inventory.View{
					Objects: having("ServiceAccount/c=1", "ServiceAccount/e=1", "ServiceAccount/d=1", "Deployment/c=1", "Ingress/c=1", "Service/c=1 lost"),
					Used:    used("ServiceAccount/c"),
				},
			},
			"Upgrade\nchange Deployment/c\ndelete Ingress/c, delete ServiceAccount/e",
		},
		"as many Secrets of configurations stay as there are records, and none that never reached a workload": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-6=1", "Deployment/c=2"),
				View: inventory.View{
					Objects: with(having("Secret/c-1=1", "Secret/c-2=1", "Secret/c-3=1", "Secret/c-4=1", "Secret/c-refused=1", "Deployment/c=1"),
						"Secret/c-refused", func(seen *inventory.Seen) { seen.Pending = true }),
					Used: used("Secret/c-4"),
				},
			},
			"Upgrade\ndelete Secret/c-refused\ncreate Secret/c-6\nchange Deployment/c\ndelete Secret/c-1, delete Secret/c-2",
		},
		"no Secret of a configuration stays without a configuration": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=1"),
				View: inventory.View{Objects: having("Secret/c-1=1", "Deployment/c=1")},
			},
			"Upgrade\ndelete Secret/c-1",
		},
		"a change of the operator waits for its turn": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"), View: inventory.View{Objects: having("Deployment/c=1")},
			},
			"Deferred",
		},
		"the deployed revision is repaired while a change of the operator waits": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"),
				View: inventory.View{Objects: having("Service/c=1 lost", "Deployment/c=1")},
			},
			"Deferred, restores",
		},
		"a workload that is not there is drift": {
			Situation{Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"), View: inventory.View{Objects: having("Service/c=1")}},
			"Deferred, restores",
		},
		"a change of the operator is deployed when its turn comes": {
			Situation{
				Deployed: "r1", ByOperator: true, Turn: true, Want: wanted("r2", "Deployment/c=2"), View: inventory.View{Objects: having("Deployment/c=1")},
			},
			"Upgrade\nchange Deployment/c",
		},
		"a check gets what its pod needs, and nothing that serves changes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-2=2", "Job/c-check=1", "Service/c=2", "Deployment/c=2"),
				View: inventory.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Checking\ncreate Secret/c-2\ncreate Job/c-check",
		},
		"a check takes the place of an earlier one, with all that this has left": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-3=1", "Job/c-new=1", "Deployment/c=2"),
				View: inventory.View{
					Objects: with(having("Secret/c-1=1", "Secret/c-2=1", "Job/c-old=1", "Job/c-older=1 lost", "Deployment/c=1"),
						"Secret/c-2", func(seen *inventory.Seen) { seen.Pending = true }), Used: used("Secret/c-1"),
				},
			},
			"Checking\ndelete Job/c-old, delete Secret/c-2\ncreate Secret/c-3\ncreate Job/c-new",
		},
		"a check that runs is waited for": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"), View: inventory.View{Objects: having("Job/c-check=1", "Deployment/c=1")},
			},
			"Checking",
		},
		"a check that the informer cache does not show yet is waited for": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"), View: inventory.View{Objects: having("Job/c-check=1 behind", "Deployment/c=1")},
			},
			"Checking",
		},
		"a check in deletion is waited for, and the deployed revision repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: having("Job/c-check=1 deleting", "Service/c=1 lost", "Deployment/c=1")},
			},
			"Checking, restores\n" + `obstacle: Job "c-check" is being deleted`,
		},
		"what a check has accepted is deployed, and its Job goes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobComplete, "", ""))},
			},
			"Upgrade\nchange Deployment/c\ndelete Job/c-check",
		},
		"what was checked before needs no other check": {
			Situation{
				Deployed: "r2", Want: wanted("r1", "Secret/c-1=1", "Job/c-check=1", "Deployment/c=1"),
				View: inventory.View{Objects: with(having("Secret/c-1=1", "Deployment/c=2"), "Secret/c-1", func(seen *inventory.Seen) { seen.Checked = "c-check" })},
			},
			"Upgrade\nchange Deployment/c",
		},
		"the deployed revision needs no check when it is repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Job/c-check=1", "Service/c=1", "Deployment/c=1"),
				View: inventory.View{Objects: having("Service/c=1", "Deployment/c=1 lost")},
			},
			"Drifted\ncreate Deployment/c",
		},
		"a check that has refused stays refused": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check",
					ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container collector for pod a/b failed with exit code 3 matching FailJob rule"))},
			},
			"Refused\nerror: spec.collector.configuration: check exited with 3; run `kubectl logs -n acme job/c-check`",
		},
		"a check that was killed has no verdict": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check",
					ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container collector for pod a/b failed with exit code 137 matching FailJob rule"))},
			},
			"Refused\nerror: the check has no verdict: killed, with exit code 137; the operator tries it again; see `kubectl describe -n acme job/c-check`",
		},
		"a check without a verdict waits for the delay": {
			Situation{
				Deployed: "r1", BacksOff: true, Told: "uid-of-Job/c-check", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobFailed, "DeadlineExceeded", ""))},
			},
			"Refused\nerror: the check has no verdict: DeadlineExceeded; the operator tries it again; see `kubectl describe -n acme job/c-check`",
		},
		"a check without a verdict is tried again after the delay": {
			Situation{
				Deployed: "r1", Told: "uid-of-Job/c-check", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: inventory.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobFailed, "DeadlineExceeded", ""))},
			},
			"Checking\ndelete Job/c-check\ncreate Job/c-check",
		},
		"a Secret that nobody can change is replaced": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1"), View: inventory.View{Objects: having("Secret/c-1=0 changed", "Deployment/c=1")},
				Immutable: map[inventory.Reference]Immutable{ref("Secret/c-1"): {}},
			},
			"Drifted\nreplace Secret/c-1",
		},
		"a StatefulSet that nobody can change is refused, unless its claims grow": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "StatefulSet/c=2"), View: inventory.View{Objects: having("StatefulSet/c=1")},
				Immutable: map[inventory.Reference]Immutable{ref("StatefulSet/c"): {Err: errors.New("updates to fields other than these are forbidden")}},
			},
			"Refused\nerror: updates to fields other than these are forbidden",
		},
		"nothing is pruned while a revision is restored": {
			Situation{
				Deployed: "r1", Restores: true, Want: wanted("r1", "Deployment/c=1"), View: inventory.View{Objects: having("Secret/c-2=2", "Deployment/c=2 changed")},
			},
			"Drifted\nchange Deployment/c",
		},
		"what a Collector from another operator no longer renders is adopted if it stays": {
			Situation{
				Deployed: "r1", Moved: true, Want: wanted("r2", "Deployment/c=2"),
				View: inventory.View{Objects: having("Secret/c-1=1 unknown", "Ingress/c=1 unknown", "Deployment/c=1 unknown"), Used: used("Secret/c-1")},
			},
			"Upgrade\nadopt Secret/c-1\nchange Deployment/c\ndelete Ingress/c",
		},
		"a Collector that is being deleted loses all that it has": {
			Situation{Deletes: true, View: inventory.View{Objects: having("Service/c=1", "Deployment/c=1", "Secret/c-1=1 deleting", "Ingress/c=1 lost")}},
			"Uninstalling\ndelete Deployment/c, delete Service/c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, brief(decide(row.situation))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanSaysWhenToLookAgain(t *testing.T) {
	for name, row := range map[string]struct {
		object string
		want   time.Duration
	}{
		"never, if something happens first":              {"Service/c=1", 0},
		"when the informer cache should have caught up":  {"Service/c=1 behind", inventory.CacheDelay},
		"when a contested object may be repaired":        {"Service/c=1 contested", time.Minute},
		"never for an object in deletion: its end tells": {"Service/c=1 deleting", 0},
	} {
		p := decide(Situation{Now: noon, Deployed: "r1", Want: wanted("r1", "Service/c=1"), View: inventory.View{Objects: having(row.object)}})
		if p.After != row.want {
			t.Errorf("%s: after %s, want %s", name, p.After, row.want)
		}
	}
}

func TestAStepSaysWhatItDoesAndWhy(t *testing.T) {
	p := decide(Situation{Deployed: "r1", Want: wanted("r1", "Service/c=1"), View: inventory.View{Objects: having("Service/c=1 changed")}})
	if got, want := p.Groups[0][0].String(), `change Service "c" (rival has changed it)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if p.IsDone() || p.Groups[0][0].UID != "uid-of-Service/c" || p.Groups[0][0].Action != apply.Change {
		t.Errorf("plan %+v", p)
	}
}
