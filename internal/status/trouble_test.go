package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// The informer cache keeps since when a pod with a stamp is not ready, and not why.
func TestAPodWithAStampHasTheTroubleOfAnyOther(t *testing.T) {
	for name, row := range map[string]struct {
		state  corev1.ContainerState
		reason string // of the condition Ready
		want   string
	}{
		"one that crashes": {
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, "ContainersNotReady", "CrashLoopBackOff",
		},
		"one that starts":           {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}, "ContainersNotReady", ""},
		"one whose node is silent":  {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, "", "NodeNotReady: node a does not report"},
		"one that is not ready yet": {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, "ContainersNotReady", ""},
	} {
		for _, stamp := range []string{"", "0123456789abcdef"} {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "gateway-x", Annotations: map[string]string{postrender.TemplateAnnotation: stamp}},
				Spec:       corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "collector"}}},
				Status: corev1.PodStatus{
					Phase:             corev1.PodRunning,
					Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: row.reason}},
					ContainerStatuses: []corev1.ContainerStatus{{Name: "collector", State: row.state}},
				},
			}
			stripped, err := StripPod(pod)
			if err != nil {
				t.Fatal(err)
			}
			if got := troubleOf(stripped.(*corev1.Pod)); got != row.want {
				t.Errorf("%s, with the stamp %q: %q, want %q", name, stamp, got, row.want)
			}
		}
	}
}
