package plan

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

const (
	changeHash = "0123456789ab"
	before     = 3 * time.Minute // the canary began so long ago
)

// workloadOf returns a wanted workload whose template has a stamp, with some fields of its spec.
func workloadOf(kind, stamp string, fields map[string]any) render.Object {
	spec := map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{postrender.TemplateAnnotation: stamp}}}}
	maps.Copy(spec, fields)
	content := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "spec": spec}}
	content.SetName("c")
	object, err := render.NewObject(content)
	if err != nil {
		panic(err)
	}
	return object
}

// canaryOf returns a situation: a changed workload of 4 pods has to prove itself. It began three minutes ago, if it has begun.
func canaryOf(kind string, fields map[string]any, pods ...live.Pod) Situation {
	s := Situation{
		Now: noon, Deployed: "r1", Want: wanted(changeHash+"cdef", "Secret/c-2=1", "Service/c=2"),
		View: live.View{Objects: with(having("Secret/c-1=1", "Service/c=1", kind+"/c=1"), kind+"/c", func(seen *live.Seen) {
			seen.Replicas, seen.Created = 4, noon.Add(-24*time.Hour)
		})},
		History: 2,
		Canary:  &Canary{Pods: intstr.FromInt32(1), Hold: 5 * time.Minute, Template: "old", Seen: pods},
	}
	s.Want.Objects = append(s.Want.Objects, workloadOf(kind, "new", fields))
	return s
}

// begun has the change of a situation be applied to canary pods.
func begun(s Situation) Situation {
	s.Begun, s.Canary.Last = true, v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-before))}
	workload := s.Want.First(render.Workloads)
	form, err := s.form(workload, s.Canary.count(4), noon.Add(-before))
	if err != nil {
		panic(err)
	}
	secret := live.Seen{Object: live.Object{UID: "new", Hash: "1"}, State: live.InOrder, Pending: true}
	s.View.Objects[ref("Secret/c-2")] = secret
	s.View.Objects = with(s.View.Objects, workload.Ref.Use(), func(seen *live.Seen) { seen.Hash = form.Hash })
	return s
}

// changed changes a situation.
func changed(s Situation, change func(*Situation)) Situation {
	change(&s)
	return s
}

// flowing returns a situation whose canary pod has been ready for so long, where the spec has a flow.
func flowing(ready time.Duration, found flow.Comparison) Situation {
	s := begun(canaryOf("Deployment", map[string]any{"replicas": int64(4)}, podSince(ready)))
	s.Canary.Flow = &found
	return s
}

func podSince(ago time.Duration) live.Pod {
	return live.Pod{Name: "c-x", Template: "new", Ready: true, Since: noon.Add(-ago)}
}

func TestDecideWhatHasToProveItself(t *testing.T) {
	deployment := map[string]any{"replicas": int64(4)}
	died, late, gone := podSince(time.Minute), podSince(time.Minute), podSince(time.Minute)
	died.Died, died.Trouble = true, "CrashLoopBackOff, exit code 1"
	late.Ready, late.Trouble = false, "Unschedulable: no node has room"
	gone.Deleting = true
	never := late
	never.Since = noon.Add(-provingDeadline)
	proving := begun(canaryOf("Deployment", deployment, podSince(2*time.Minute)))
	for name, row := range map[string]struct {
		situation Situation
		want      string
	}{
		"what pods mount and the workload reach canary pods, and all else is only tried": {
			canaryOf("Deployment", deployment),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c\n" +
				"proof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:15:00Z",
		},
		"nothing is done while canary pods prove the change": {
			proving, "Proving\nproof: canary pods (1 of 4) prove the change until 2026-01-02T12:03:00Z",
		},
		"what is proven is deployed as without a canary": {
			begun(canaryOf("Deployment", deployment, podSince(5*time.Minute))), "Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c\nproven",
		},
		"what pods of an earlier canary have shown does not count": {
			changed(canaryOf("Deployment", deployment, podSince(5*time.Minute)), func(s *Situation) { s.Want.Objects = s.Want.Objects[2:] }),
			"Proving\nchange Deployment/c\nproof: no proof counts before the workload limits the change to canary pods",
		},
		"a pod of another template proves nothing": {
			begun(canaryOf("Deployment", deployment, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Hour), Died: true})),
			"Proving\nproof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:12:00Z",
		},
		"a change whose container has died is refused, and what is deployed is mended": {
			begun(canaryOf("Deployment", deployment, died)), "Refused, restores\nerror: pod c-x: CrashLoopBackOff, exit code 1",
		},
		"a pod that is not ready is waited for": {
			begun(canaryOf("Deployment", deployment, late)),
			"Proving\nproof: canary pods (1 of 4) are not ready, and have until 2026-01-02T12:09:00Z; pod c-x: Unschedulable: no node has room",
		},
		"a pod that does not become ready fails": {
			begun(canaryOf("Deployment", deployment, never)),
			"Refused, restores\nerror: canary pods were not ready in time; pod c-x: Unschedulable: no node has room",
		},
		"a pod that is evicted is waited for": {
			begun(canaryOf("Deployment", deployment, gone)),
			"Proving\nproof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:12:00Z",
		},
		"what was rolled back is not tried again": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, RolledBack: "it died"} }),
			"Refused\nerror: it died",
		},
		"what was rolled back is deployed when it is promoted": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.Canary.Last, s.Canary.Promoted = v1alpha1.CanaryStatus{Hash: changeHash, RolledBack: "it died"}, changeHash
			}), "Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c\n" +
				"unproven: annotation kube8.dev/promote promotes it",
		},
		"another change than the one that was rolled back is tried": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Last = v1alpha1.CanaryStatus{Hash: "another", RolledBack: "it died"} }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c\n" +
				"proof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:15:00Z",
		},
		"what is aborted is refused although it is proven": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Hour))), func(s *Situation) { s.Canary.Aborted = changeHash }),
			"Refused, restores\nerror: the change is aborted by annotation kube8.dev/abort",
		},
		"data that canary pods lose, and others do not, is a failure": {
			flowing(time.Minute, flow.Comparison{IsKnown: true, Worse: "a part is lost"}),
			"Refused, restores\nerror: data flows worse through canary pods than through the others: a part is lost",
		},
		"pods that are ready for long enough wait for the verdict of their data": {
			flowing(5*time.Minute, flow.Comparison{}), "Proving\n" +
				"proof: canary pods (1 of 4) are ready, and wait until it is known how their data flows, or until 2026-01-02T12:10:00Z",
		},
		"data that never has a verdict has no say": {
			flowing(15*time.Minute, flow.Comparison{}), "Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c\nproven",
		},
		"data may be silent at first": {
			flowing(time.Minute, flow.Comparison{IsKnown: true, IsSilent: true}),
			"Proving\nproof: canary pods (1 of 4) prove the change until 2026-01-02T12:04:00Z",
		},
		"silence at the end is a failure where data flows through others": {
			flowing(5*time.Minute, flow.Comparison{IsKnown: true, IsSilent: true}),
			"Refused, restores\nerror: nothing flows through canary pods, and data flows through the others",
		},
		"data that flows as before is proven": {
			flowing(5*time.Minute, flow.Comparison{IsKnown: true}), "Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c\nproven",
		},
		"what is promoted once it is proven is proven": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Hour))), func(s *Situation) { s.Canary.IsManual, s.Canary.Promoted = true, changeHash }),
			"Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c\nproven",
		},
		"what is promoted is deployed at once": {
			changed(begun(canaryOf("Deployment", deployment, died)), func(s *Situation) { s.Canary.Promoted = changeHash }),
			"Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c\nunproven: annotation kube8.dev/promote promotes it",
		},
		"a failure leaves canary pods alone, if the user says so": {
			changed(begun(canaryOf("Deployment", deployment, died)), func(s *Situation) { s.Canary.Pauses = true }),
			"Proving\nproof: pod c-x: CrashLoopBackOff, exit code 1; the canary pods stay until you promote or abort the change\npaused",
		},
		"what is proven waits for a user, if the user says so": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Hour))), func(s *Situation) { s.Canary.IsManual = true }),
			"Proving\nproof: canary pods (1 of 4) have proven the change, which waits until you promote it",
		},
		"what else is harmed is mended meanwhile": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Minute))), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "Service/c", func(seen *live.Seen) { seen.State = live.Changed })
				s.Accepted = &Accepted{Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")}
			}),
			"Proving, restores\nmend: change Service/c\nproof: canary pods (1 of 4) prove the change until 2026-01-02T12:04:00Z",
		},
		"a canary that somebody has changed is applied again": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Minute))), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.State = live.Changed })
			}),
			"Proving\ntry Service/c\nchange Deployment/c\nproof: canary pods (1 of 4) prove the change until 2026-01-02T12:04:00Z",
		},
		"what pods mount changes with another change only if the API server accepts all the rest": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Minute))), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "Secret/c-2", func(seen *live.Seen) { seen.Hash = "0" })
				s.View.Used = used("Secret/c-2")
			}),
			"Proving\ntry Service/c, try Deployment/c\nchange Secret/c-2\nproof: canary pods (1 of 4) prove the change until 2026-01-02T12:04:00Z",
		},
		"a workload that somebody has deleted comes back as it was before the change goes on": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.State = live.Lost })
				s.Accepted = &Accepted{Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")}
			}),
			"Deferred, restores\nmend: create Deployment/c with 4 pods\n" +
				"message: Deployment \"c\" of the deployed revision comes back before the change is proven",
		},
		"a workload that got its own form was proven, also if no operator could tell": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				hash := s.Want.First(render.Workloads).Hash
				s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.Hash = hash })
			}), "Upgrade\ncreate Secret/c-2\nchange Service/c",
		},
		"an equal template has nothing to prove": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Template = "new" }),
			"Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c",
		},
		"a workload without pods has nothing to protect": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.Replicas = 0 })
			}), "Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c",
		},
		"pods that cannot run beside each other are no canary": {
			canaryOf("Deployment", map[string]any{"strategy": map[string]any{"type": "Recreate"}}),
			"Upgrade\ntry Deployment/c with 4 pods\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c with 4 pods\n" +
				`unproven: pods of Deployment "c" cannot run beside each other`,
		},
		"pods that a user replaces are no canary": {
			canaryOf("StatefulSet", map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}}),
			"Upgrade\ntry StatefulSet/c with 4 pods\ncreate Secret/c-2\nchange Service/c\nchange StatefulSet/c with 4 pods\n" +
				`unproven: a user decides when pods of StatefulSet "c" are replaced`,
		},
		"pods below a partition are no canary": {
			canaryOf("StatefulSet", map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": int64(2)}}}),
			"Upgrade\ntry StatefulSet/c with 4 pods\ncreate Secret/c-2\nchange Service/c\nchange StatefulSet/c with 4 pods\n" +
				`unproven: a user decides when pods of StatefulSet "c" are replaced`,
		},
		"a change of the owner has nothing to prove, if only the operator's changes have": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.OfOperator = true }),
			"Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c",
		},
		"a change of the operator has to prove itself then": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.OfOperator, s.ByOperator, s.Turn = true, true, true }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c\n" +
				"proof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:15:00Z",
		},
		"pods that get a claim one after the other are no canary": {
			changed(canaryOf("StatefulSet", map[string]any{"volumeClaimTemplates": []any{
				map[string]any{"metadata": map[string]any{"name": "log"}}, map[string]any{"metadata": map[string]any{"name": "queue"}},
			}}), func(s *Situation) { s.View.Pods = setPods("0 log queue", "1 log") }),
			"Upgrade\ntry StatefulSet/c with 4 pods\ncreate Secret/c-2\nchange Service/c\nchange StatefulSet/c with 4 pods\n" +
				`unproven: pods of StatefulSet "c" lack a claim, and are replaced one after the other`,
		},
		"the number of pods stays left to another client's autoscaler": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.Want.Objects[2].SetsReplicas, s.ScaledBy, s.Scaled = true, "HorizontalPodAutoscaler \"own\"", ref("Deployment/c")
			}),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c with 4 pods, leaving replicas\n" +
				`message: HorizontalPodAutoscaler "own" sets the number of pods of Deployment "c", so the operator leaves it alone; ` +
				`set spec.autoscaling.external to true, or delete HorizontalPodAutoscaler "own"` +
				"\nproof: canary pods (1 of 4) are not there, and have until 2026-01-02T12:15:00Z",
		},
		"a workload of another kind is no canary": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.View.Objects = with(having("Service/c=2", "StatefulSet/c=1"), "StatefulSet/c", func(seen *live.Seen) { seen.Replicas = 4 })
			}),
			"Upgrade\ncreate Secret/c-2\ncreate Deployment/c\nmessage: StatefulSet \"c\" serves until Deployment \"c\" does",
		},
		"pods of a DaemonSet must have been ready for longer than a proof takes": {
			canaryOf("DaemonSet", nil, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}),
			"Deferred\nproof: the change begins to prove itself at 2026-01-02T12:14:01Z, when all pods have been ready for 15m0s",
		},
		"a DaemonSet without stamps has no canary": {
			changed(canaryOf("DaemonSet", nil), func(s *Situation) { s.Canary.Template = "" }),
			"Upgrade\ntry DaemonSet/c\ncreate Secret/c-2\nchange Service/c\nchange DaemonSet/c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Decide(row.situation)
			got := brief(p)
			if p.Proof != "" {
				got += "\nproof: " + p.Proof
			}
			if p.Canary != nil && p.Canary.Paused != "" {
				got += "\npaused"
			}
			got += map[bool]string{true: "\nunproven: " + p.Unproven}[p.Unproven != ""] + map[bool]string{true: "\nproven"}[p.Proven]
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
