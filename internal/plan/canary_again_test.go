package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
)

func TestDecideWhetherACanaryHadItsTime(t *testing.T) {
	hourAgo := v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-time.Hour))}
	deployment := map[string]any{"replicas": int64(4)}
	orphan := podSince(time.Hour)
	orphan.Orphan, orphan.Ready = true, false
	decisions{
		"a canary that a finalizer or a check has kept away begins anew": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c",
		},
		"a canary whose pods cannot be created fails": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Refused, restores\nerror: canary pods were not there in time",
		},
		"a change that was proven before the API server refused it needs no canary again": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Proven, s.Refused = changeHash+"cdef", ref("Service/c") }),
			"Upgrade\ntry Service/c, try Deployment/c\ncreate Secret/c-2\nchange Service/c\nchange Deployment/c",
		},
		"another change than the one that was proven does": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Proven = "another" }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c",
		},
		"a change that a user approves does, too": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Proven, s.Canary.IsManual = changeHash+"cdef", true }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c",
		},
		"a canary that was rolled back does not begin anew": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.Canary.Last = hourAgo
				s.Canary.Last.RolledBack = "it died"
			}),
			"Refused\nerror: it died",
		},
		"a canary pod that has lost its StatefulSet for a moment is waited for": {
			changed(begun(canaryOf("StatefulSet", nil, orphan)), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Proving",
		},
	}.run(t)
}

func TestDecideWhenTheCanaryOfADaemonSetBegins(t *testing.T) {
	since := func(ago time.Duration, ready bool) live.Pod {
		return live.Pod{Template: "old", Ready: ready, Since: noon.Add(-ago), DaemonSet: "uid-of-DaemonSet/c"}
	}
	orphan, other := since(time.Minute, false), since(time.Hour, true)
	orphan.Orphan, orphan.DaemonSet, other.DaemonSet = true, "", ""
	made := func(all, available int32) func(*Situation) {
		return func(s *Situation) {
			s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.All, seen.Available = all, available })
			s.Canary.See(s.Canary.Seen)
		}
	}
	proving := "Proving\ntry Service/c\ncreate Secret/c-2\nchange DaemonSet/c"
	decisions{
		"not while the informer cache hides a pod": {
			changed(canaryOf("DaemonSet", nil, since(time.Hour, true)), made(2, 1)), "Deferred",
		},
		"not while the informer cache shows a pod of a Deployment that has gone, and hides one of the DaemonSet": {
			changed(canaryOf("DaemonSet", nil, since(time.Hour, true), other), made(2, 2)), "Deferred",
		},
		"not while it does not show the DaemonSet": {
			changed(canaryOf("DaemonSet", nil, since(time.Hour, true)), func(s *Situation) {
				s.View.Objects = with(s.View.Objects, "DaemonSet/c", func(seen *live.Seen) { seen.State = live.Stale })
			}),
			"Deferred",
		},
		"not while it hides that a pod is ready": {
			changed(canaryOf("DaemonSet", nil, since(time.Hour, true), since(time.Minute, false)), made(2, 2)), "Deferred",
		},
		"when it shows that one is not ready": {
			changed(canaryOf("DaemonSet", nil, since(time.Hour, true), since(time.Minute, false)), made(2, 1)), proving,
		},
		"also beside a pod of a StatefulSet that has gone": {canaryOf("DaemonSet", nil, since(time.Hour, true), orphan), proving},
	}.run(t)
}

func TestDecideWithAStatefulSetWhosePodsSeemToHaveTheirOwner(t *testing.T) {
	without := func(pods ...live.Pod) Situation {
		return changed(canaryOf("StatefulSet", nil, pods...), func(s *Situation) {
			s.View.Objects = with(s.View.Objects, "StatefulSet/c", func(seen *live.Seen) { *seen = live.Seen{State: live.Absent} })
			s.View.Pods = pods
			s.Accepted = &Accepted{Want: wanted("r1", "Secret/c-1=1", "Service/c=1", "StatefulSet/c=1")}
		})
	}
	goes := podSince(time.Hour)
	goes.Deleting = true
	decisions{
		"one that is away comes back before the change is proven": {
			without(podSince(time.Hour)),
			"Deferred, restores\nmend: create StatefulSet/c\nmessage: StatefulSet \"c\" of the deployed revision comes back before the change is proven",
		},
		"one whose pods go protects none": {without(goes), "Upgrade\ntry StatefulSet/c\ncreate Secret/c-2\nchange Service/c\ncreate StatefulSet/c"},
	}.run(t)
}

func TestClaimsGrowOnceTheChangeIsProven(t *testing.T) {
	grows := func(s Situation) Situation {
		return changed(s, func(s *Situation) {
			s.View.Objects = with(s.View.Objects, "StatefulSet/c", func(seen *live.Seen) { seen.UID = "1" })
			s.Immutable = apply.Immutables{ref("StatefulSet/c"): {
				Live: setOf("1", "1Gi"), Wanted: setOf("", "2Gi"), Applied: setOf("", "1Gi"), Err: errors.New("forbidden"), Claims: claimsOf("queue--0"),
			}}
		})
	}
	decisions{
		"the StatefulSet keeps the sizes that its claims have, and larger ones are tried": {
			grows(canaryOf("StatefulSet", nil)), "Proving\ntry Service/c, try StatefulSet/c with 4 pods without its pods\n" +
				"create Secret/c-2\nchange StatefulSet/c with 4 pods",
		},
		"then it is replaced": {
			grows(begun(canaryOf("StatefulSet", nil, podSince(time.Hour)))), "Upgrade\ntry StatefulSet/c with 4 pods without its pods\n" +
				"change Service/c\nreplace StatefulSet/c with 4 pods without its pods",
		},
	}.run(t)
}

// Another client has changed the Secret that canary pods mount, so the workload is tried again before the Secret is written.
func TestAWorkloadThatKeepsTheSizesOfItsClaimsIsTriedAsItIs(t *testing.T) {
	s := changed(begun(canaryOf("StatefulSet", nil, podSince(time.Minute))), func(s *Situation) {
		s.View.Objects = with(s.View.Objects, "StatefulSet/c", func(seen *live.Seen) { seen.UID = "1" })
		s.View.Objects = with(s.View.Objects, "Secret/c-2", func(seen *live.Seen) { seen.State = live.Changed })
		s.View.Used = used("Secret/c-2")
		s.Immutable = apply.Immutables{ref("StatefulSet/c"): {
			Live: setOf("1", "1Gi"), Wanted: setOf("", "2Gi"), Applied: setOf("", "1Gi"), Err: errors.New("forbidden"), Claims: claimsOf("queue--0"),
		}}
	})
	var sizes []string
	for _, step := range Decide(s).Tries {
		templates, has, _ := unstructured.NestedSlice(step.Object.Content.Object, "spec", "volumeClaimTemplates")
		if !has || step.Old != nil {
			continue
		}
		fields, _ := templates[0].(map[string]any)
		size, _, _ := unstructured.NestedString(fields, "spec", "resources", "requests", "storage")
		sizes = append(sizes, size)
	}
	if diff := cmp.Diff([]string{"1Gi"}, sizes); diff != "" {
		t.Errorf("sizes of what is tried (-want +got)\n%s", diff)
	}
}
