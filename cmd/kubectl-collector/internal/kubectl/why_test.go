package kubectl

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
	"github.com/kube8/kube8-operator/internal/postrender"
)

func TestWhySaysWhatIsKnown(t *testing.T) {
	const notReady = v1alpha1.ReasonPodsNotReady
	waiting := v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonWaiting, Message: "ring 1, place 2"}
	gateway := func(edit func(*v1alpha1.Collector)) *v1alpha1.Collector {
		c := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{
			Namespace: "acme", Name: "gateway", Generation: 7, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}
		c.Status.ObservedGeneration = 7
		edit(c)
		return c
	}
	recorded := func(generations ...int64) func(*v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			for i, generation := range generations {
				c.Status.History = append(c.Status.History, v1alpha1.RecordedRevision{Revision: int64(i + 1), Generation: generation})
			}
			c.Status.DeployedRelease = &v1alpha1.DeployedRelease{Revision: int64(len(generations))}
		}
	}
	forbidden := func(words ...string) func(string) bool {
		return func(command string) bool {
			for _, word := range words {
				if strings.Contains(command, word) {
					return false
				}
			}
			return true
		}
	}
	for name, row := range map[string]struct {
		observed      observed
		want, wantNot string
	}{
		"that no operator has reconciled it, to a tenant": {
			observed: observed{collector: gateway(func(*v1alpha1.Collector) {}), ready: neverSeen, may: forbidden("kube8-operator-system")},
			want:     "Look at\n  kubectl collector status gateway -n acme --watch", wantNot: "endpointslices",
		},
		"that no operator has reconciled it, to the platform team": {
			observed: observed{collector: gateway(func(*v1alpha1.Collector) {}), ready: neverSeen},
			want:     "Look at\n  kubectl -n kube8-operator-system get pods",
		},
		"why the state is unknown": {
			observed: observed{collector: gateway(func(*v1alpha1.Collector) {}), ready: neverSeen},
			want:     "The state of Collector acme/gateway is unknown, 60m after its creation: no operator has reconciled it yet.",
		},
		"whom an update waits for, to the platform team": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, collector: gateway(func(c *v1alpha1.Collector) {
				c.Status.Conditions, c.Status.Bases = []v1alpha1.Condition{waiting}, []string{"limits@1111"}
			})},
			want: "another version of a base. Deployed are limits@1111.\n  It waits until the Collectors of lower rings, and those before this one in its ring, " +
				"are ready with it. To see which these are: kubectl collector rollout status",
		},
		"that an update is refused": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, collector: gateway(func(c *v1alpha1.Collector) {
				refused := waiting
				refused.Reason, refused.Message = v1alpha1.ReasonRefused, "no YAML"
				c.Status.Conditions = []v1alpha1.Condition{refused}
			})},
			want:    "Who brings that change, and what it waits for\n  The platform: another version of the operator.\n  The platform team has to correct it.",
			wantNot: "lower rings",
		},
		"whom an update waits for, to a tenant": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, may: forbidden("rollout"), collector: gateway(func(c *v1alpha1.Collector) {
				c.Status.Conditions = []v1alpha1.Condition{waiting}
			})},
			want: "The platform team can see which these are.", wantNot: "kubectl collector rollout",
		},
		"nothing of a pod that is gone": {
			observed: observed{collector: gateway(func(*v1alpha1.Collector) {}), ready: v1alpha1.Condition{
				Reason: notReady, Message: "0/1 available; pod gone: CrashLoopBackOff, exit code 1; FailedCreate: exceeded quota: few, requested: pods=1",
			}},
			want: "as many pods as its quota allows", wantNot: "ends by itself",
		},
		"that the owner has changed the spec": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, collector: gateway(recorded(5, 7))}, want: "revision 2, by a change of the spec",
		},
		"that the owner has not": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, collector: gateway(recorded(7, 7))},
			want:     "revision 2 has the spec of revision 1: a base, the operator or a Secret that the spec refers to has changed",
		},
		"that a change is not deployed": {
			observed: observed{ready: v1alpha1.Condition{Reason: v1alpha1.ReasonCheckFailed}, collector: gateway(recorded(5, 6))},
			want:     "the owner's change of the spec, by unknown, is not deployed: revision 2 has generation 6, and the spec is at 7",
		},
		"the pods of two revisions": {
			observed: observed{ready: v1alpha1.Condition{Reason: notReady}, collector: gateway(func(c *v1alpha1.Collector) { c.Status.ConfigHash = "new" }),
				pods: []corev1.Pod{podOf("b", "new", false), podOf("a", "old", true)}},
			want: "What serves meanwhile\n  a of image collector:1, configuration old, and not new, which is deployed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := row.observed.explain(&out); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); !strings.Contains(text, row.want) || row.wantNot != "" && strings.Contains(text, row.wantNot) {
				t.Errorf("want %q and not %q in:\n%s", row.want, row.wantNot, text)
			}
		})
	}
}

// podOf returns a pod of a configuration.
func podOf(name, hash string, ready bool) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{postrender.ConfigHashAnnotation: hash}}}
	pod.Spec.Containers = []corev1.Container{{Name: "collector", Image: "collector:1"}}
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

func TestAPodIsOfATemplateByItsImageAndItsFiles(t *testing.T) {
	pod := podOf("a", "old", true)
	if got := history.TemplateOf(&pod); got != (history.Template{Image: "collector:1", Config: "old"}) {
		t.Errorf("it is of %+v", got)
	}
}

func TestTheSummaryCountsUpdatesByWhereTheyAre(t *testing.T) {
	rows := []row{{"ready": "True"}, {"ready": "True", "update": "RollingOut"}, {"status": "PodsNotReady", "update": "Waiting"}, {"ready": "True", "update": "Waiting"},
		{"ready": "True", "update": "BaseRefused"}}
	const want = "4 of 5 ready, 1 PodsNotReady, a change of the platform is on its way to 1, a base is refused for 1, 2 wait for a change of the platform"
	if got := summary(rows); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPodThatHasEndedIsNotLookedAtBesideANewerOne(t *testing.T) {
	pod := func(name string, age time.Duration, phase corev1.PodPhase) corev1.Pod {
		made := podOf(name, "new", false)
		made.CreationTimestamp, made.Status.Phase = metav1.NewTime(time.Now().Add(-age)), phase
		return made
	}
	for name, row := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"an evicted one":              {[]corev1.Pod{pod("old", time.Hour, corev1.PodFailed), pod("new", time.Minute, corev1.PodPending)}, "new"},
		"the newest, if it has ended": {[]corev1.Pod{pod("new", time.Minute, corev1.PodFailed)}, "new"},
		"one that crashes":            {[]corev1.Pod{pod("old", time.Hour, corev1.PodRunning), pod("new", time.Minute, corev1.PodPending)}, "new old"},
	} {
		var got []string
		for _, one := range present(row.pods) {
			got = append(got, one.Name)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
