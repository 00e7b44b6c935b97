package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

func TestDecideWhatHasBeenRejected(t *testing.T) {
	deployment := map[string]any{"replicas": int64(4)}
	empty := func(s *Situation) {
		s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.Replicas = 0 })
	}
	rolledBack := v1alpha1.CanaryStatus{Hash: changeHash, RolledBack: "it died"}
	recovered := podSince(before / 2)
	recovered.Died = true
	decisions{
		"a change that was rolled back does not reach a workload that was scaled to 0": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { empty(s); s.Canary.Last = rolledBack }),
			"Refused\nerror: it died",
		},
		"a change that is aborted does not, either": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { empty(s); s.Canary.Aborted = changeHash }),
			"Refused\nerror: " + aborted,
		},
		"a change that has paused does not, either": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { empty(s); s.Canary.Pauses, s.Canary.Last.Paused = true, "it died" }),
			"Refused, restores\nerror: it died",
		},
		"a change that has paused is not tried again where its canary pods have gone with a DaemonSet": {
			changed(canaryOf("DaemonSet", nil, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}), func(s *Situation) {
				s.Canary.Pauses = true
				s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-before)), Paused: "it died"}
			}),
			"Refused\nerror: it died",
		},
		"a change of the operator that was rolled back asks for no turn": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.ByOperator, s.Canary.Last = true, rolledBack }),
			"Refused\nerror: it died",
		},
		"a change whose annotation has gone again is tried again": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, RolledBack: aborted, Aborted: true}
			}),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c",
		},
		"a change that is both promoted and aborted is promoted": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Aborted, s.Canary.Promoted = changeHash, changeHash }),
			"Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c",
		},
		"another change with the template that has paused pauses": {
			changed(begun(canaryOf("Deployment", deployment, recovered)), func(s *Situation) {
				s.Canary.Hold, s.Canary.Pauses, s.Canary.Last.Hash, s.Canary.Last.Paused = time.Minute, true, "another", "it died"
			}),
			"Proving",
		},
		"another change of a DaemonSet with that template waits, and has failed": {
			changed(begun(canaryOf("DaemonSet", nil, recovered, live.Pod{Template: "old", Ready: true, Since: noon})), func(s *Situation) {
				s.Canary.Hold, s.Canary.Pauses, s.Canary.Last.Hash, s.Canary.Last.Paused = time.Minute, true, "another", "it died"
			}),
			"Deferred, restores",
		},
		"and still does when it is looked at again": {
			changed(begun(canaryOf("DaemonSet", nil, recovered, live.Pod{Template: "old", Ready: true, Since: noon})), func(s *Situation) {
				s.Canary.Hold, s.Canary.Pauses, s.Canary.Last.Since, s.Canary.Last.Paused = time.Minute, true, metav1.Time{}, "it died"
			}),
			"Deferred, restores",
		},
		"a paused change that is no longer to pause is rolled back for the same cause": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Hour))), func(s *Situation) { s.Canary.Last.Paused = "it died" }),
			"Refused, restores\nerror: it died",
		},
	}.run(t)
}

func TestAPausedChangeWaitsForAUserAlsoIfItsPodsRecover(t *testing.T) {
	s := begun(canaryOf("Deployment", map[string]any{"replicas": int64(4)}, podSince(time.Hour)))
	s.Canary.Pauses, s.Canary.Last.Paused = true, "it died"
	p := Decide(s)
	if p.Verdict != Proving || p.Canary.Paused != "it died" || p.Proof != "it died; the canary pods stay until you promote or abort the change" {
		t.Errorf("%s, paused %q, proof %q", brief(p), p.Canary.Paused, p.Proof)
	}
}

func TestTheStatusTellsThatAProvenChangeWaitsForAUser(t *testing.T) {
	for ready, want := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		s := begun(canaryOf("Deployment", map[string]any{"replicas": int64(4)}, podSince(ready)))
		s.Canary.IsManual = true
		if p := Decide(s); p.Canary.Proven != want {
			t.Errorf("ready for %s: proven %t, want %t", ready, p.Canary.Proven, want)
		}
	}
}

func TestDecideWhatCanaryPodsShowThatComeAndGo(t *testing.T) {
	deployment := map[string]any{"replicas": int64(4)}
	gone, died := podSince(20*time.Minute), podSince(time.Minute)
	gone.Deleting, died.Deleting, died.Died = true, true, true
	late, later := podSince(11*time.Minute), podSince(time.Minute)
	late.Ready, later.Ready, later.Name = false, false, "c-y"
	earlier, ends := podSince(time.Hour), podSince(time.Minute)
	earlier.Died, ends.Died = true, true
	broken := earlier
	broken.Ready = false
	ended, evicted := broken, podSince(time.Minute)
	ended.Ended, evicted.Ready, evicted.Ended = true, false, true
	before := func(s *Situation) { s.Canary.Last.Since = metav1.NewTime(noon.Add(-time.Hour)) }
	all := map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}}
	decisions{
		"a pod that was ready for long and goes is waited for": {begun(canaryOf("Deployment", deployment, gone)), "Proving"},
		"a pod that goes may end as it likes":                  {begun(canaryOf("Deployment", deployment, died)), "Proving"},
		"a pod that has gone has time to come again": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { before(s); s.Canary.Lacking = noon }), "Proving",
		},
		"a pod that does not come again fails": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { before(s); s.Canary.Lacking = noon.Add(-provingDeadline) }),
			"Refused, restores\nerror: canary pods were not there in time",
		},
		"a pod that the API server refuses fails with the reason": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) {
				before(s)
				s.Canary.Lacking = noon.Add(-provingDeadline)
				s.View.Objects = with(s.View.Objects, "Deployment/c", func(seen *live.Seen) { seen.Refusal = "FailedCreate: exceeded quota" })
			}),
			"Refused, restores\nerror: canary pods were not there in time; FailedCreate: exceeded quota",
		},
		"the first of two pods that are not ready has the deadline": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { s.Canary.See([]live.Pod{later, late}) }),
			"Refused, restores\nerror: canary pods were not ready in time",
		},
		"the first of them has it in any order": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { s.Canary.See([]live.Pod{late, later}) }),
			"Refused, restores\nerror: canary pods were not ready in time",
		},
		"a StatefulSet whose pods are all canary pods has to prove itself": {
			begun(changed(canaryOf("StatefulSet", all, podSince(time.Minute)), func(s *Situation) { s.Canary.Pods = intstr.FromInt32(4) })), "Proving",
		},
		"a DaemonSet whose nodes are not counted yet is waited for": {
			changed(canaryOf("DaemonSet", nil), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.Replicas, seen.Uncounted = 0, true })
				s.Accepted = &Accepted{Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "DaemonSet/c=1")}
			}),
			"Deferred, restores\nmessage: DaemonSet \"c\" of the deployed revision comes back before the change is proven",
		},
		"a DaemonSet that the informer cache does not show yet is waited for": {
			changed(canaryOf("DaemonSet", nil), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.Replicas, seen.State = 0, live.Stale })
				s.Accepted = &Accepted{Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "DaemonSet/c=1")}
			}),
			"Deferred, restores\nmessage: DaemonSet \"c\" of the deployed revision comes back before the change is proven",
		},
		"a DaemonSet whose canary begins anew waits until all pods have been ready for long enough": {
			changed(canaryOf("DaemonSet", nil, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}), func(s *Situation) {
				s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-time.Hour))}
			}),
			"Deferred",
		},
		"a DaemonSet whose canary was taken back waits again": {
			changed(canaryOf("DaemonSet", nil, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}), func(s *Situation) {
				s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-3 * time.Minute))}
			}),
			"Deferred",
		},
		"a DaemonSet that was just created waits for its pods to start": {
			changed(canaryOf("DaemonSet", nil, live.Pod{Template: "old", Since: noon.Add(-2 * time.Minute)}), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.Created = noon.Add(-2 * time.Minute) })
			}),
			"Deferred",
		},
		"a DaemonSet whose pods do not become ready does not": {
			canaryOf("DaemonSet", nil, live.Pod{Template: "old", Since: noon.Add(-time.Minute)}),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange DaemonSet/c",
		},
		"a pod that restarted in an earlier revision with the same template proves it": {
			begun(canaryOf("Deployment", deployment, earlier)), "Upgrade\ntry Deployment/c\nchange Service/c\nchange Deployment/c",
		},
		"a pod of an earlier revision that ends in the proof fails": {
			begun(canaryOf("Deployment", deployment, ends)), "Refused, restores\nerror: pod c-x: a container has restarted or failed",
		},
		"a pod of an earlier revision that has ended and is not ready fails": {
			begun(canaryOf("Deployment", deployment, broken)), "Refused, restores\nerror: pod c-x: a container has restarted or failed",
		},
		"a pod that had ended before the canary began, and stays there, is none": {begun(canaryOf("Deployment", deployment, ended)), "Proving"},
		"one that ends in the proof has the deadline of those that are not ready": {
			changed(begun(canaryOf("Deployment", deployment, evicted)), func(s *Situation) { s.Now = s.Now.Add(provingDeadline) }),
			"Refused, restores\nerror: canary pods were not ready in time",
		},
		"a DaemonSet goes back at once to what most of its pods have proven": {
			changed(canaryOf("DaemonSet", nil, earlier, live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}), func(s *Situation) {
				s.Want.Objects = s.Want.Objects[2:]
			}),
			"Proving\nchange DaemonSet/c",
		},
		"a StatefulSet that makes one canary pod after the other has time for each": {
			changed(begun(canaryOf("StatefulSet", nil, podSince(time.Minute))), func(s *Situation) { before(s); s.Canary.Pods = intstr.FromInt32(2) }),
			"Proving\ntry Service/c\nchange StatefulSet/c with 4 pods",
		},
		"data that an operator has not watched for long enough is waited for": {
			flowing(time.Hour, flow.Comparison{Began: noon.Add(-time.Minute)}), "Proving",
		},
		"data that seems worse at the end fails, if the others never tell": {
			flowing(time.Hour, flow.Comparison{Doubt: "a part is lost"}),
			"Refused, restores\nerror: data flows worse through canary pods than through the others: a part is lost",
		},
		"a change beside the workload that it replaces has one": {
			changed(begun(canaryOf("Deployment", deployment, podSince(time.Minute))), func(s *Situation) {
				s.View.Objects[ref("StatefulSet/c")] = live.Seen{Object: live.Object{UID: "set", Hash: "1", Replicas: 4}, State: live.InOrder}
				s.Accepted = &Accepted{Recorded: wanted("r1", "Service/c=1", "Deployment/c=1")}
			}),
			"Proving",
		},
		"a change beside the accepted workload of another kind has no canary": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.View.Objects[ref("StatefulSet/c")] = live.Seen{Object: live.Object{UID: "set", Hash: "1", Replicas: 4}, State: live.InOrder}
				s.Accepted = &Accepted{Recorded: wanted("r1", "Service/c=1", "StatefulSet/c=1")}
			}),
			"Upgrade\ntry Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c\n" +
				"message: StatefulSet \"c\" serves until Deployment \"c\" does",
		},
	}.run(t)
}

// The controller would replace all pods at once that have not been ready for minReadySeconds.
func TestYoungPodsOfADaemonSetCountAsAvailableWhenItGoesBack(t *testing.T) {
	s := canaryOf("DaemonSet", nil, podSince(time.Hour), live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)})
	p := Decide(s)
	form := p.holds.First(render.Workloads)
	if form == nil {
		t.Fatalf("the plan changes no workload: %s", brief(p))
	}
	if got, _, _ := unstructured.NestedInt64(form.Content.Object, "spec", "minReadySeconds"); got != 60 {
		t.Errorf("minReadySeconds is %d, and a pod has been ready for 60", got)
	}
}

func TestCanaryPodsOfADaemonSetNeverCountAsAvailable(t *testing.T) {
	flapped := live.Pod{Template: "old", Ready: true, Since: noon.Add(-time.Minute)}
	began := noon.Add(-time.Hour)
	for name, row := range map[string]struct {
		hold, old, ready time.Duration // for how long other pods were ready when it began, and the canary pod is ready now
		want             int64
		after            time.Duration
	}{
		"at first, they are as long as the other pods had been ready": {5 * time.Minute, 16 * time.Minute, 7 * time.Minute, 16 * 60, time.Minute},
		"they grow with the canary pods":                              {5 * time.Minute, 16 * time.Minute, 50 * time.Minute, (16 + 48) * 60, 6 * time.Minute},
		"a hold that has become longer does not keep them from that":  {time.Hour, 16 * time.Minute, 20 * time.Minute, (16 + 16) * 60, 4 * time.Minute},
		"nor do pods that are older than the proof":                   {5 * time.Minute, 3 * time.Hour, 3 * time.Hour, 4 * 60 * 60, 30 * time.Minute},
		"they grow rarely where other pods have been ready for long":  {5 * time.Minute, 23 * time.Hour, 50 * time.Minute, 23 * 60 * 60, 640 * time.Minute},
	} {
		s := canaryOf("DaemonSet", nil, live.Pod{Template: "old", Ready: true, Since: began.Add(-row.old)}, flapped, podSince(row.ready))
		s.Canary.Hold, s.Canary.IsManual = row.hold, true
		s.Canary.Last = v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(began)}
		form, err := s.form(s.Want.First(render.Workloads), 1, began)
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := unstructured.NestedInt64(form.Content.Object, "spec", "minReadySeconds")
		p := Decide(changed(s, func(s *Situation) {
			s.Begun = true
			s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.Hash = form.Hash })
		}))
		if diff := cmp.Diff([]any{row.want, row.after}, []any{got, p.After}); diff != "" {
			t.Errorf("%s: minReadySeconds and after (-want +got)\n%s", name, diff)
		}
	}
}
