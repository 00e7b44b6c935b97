package status

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
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

// A ReplicaSet makes another pod for one that the kubelet has evicted, and leaves the old one there.
func TestAPodThatHasEndedIsNoTroubleOnceThereIsANewerOne(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	pod := func(name string, age time.Duration, status corev1.PodStatus) *corev1.Pod {
		stripped, err := StripPod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "tenant-acme", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age)), Labels: map[string]string{v1alpha1.CollectorLabel: "gateway"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "collector"}}}, Status: status,
		})
		if err != nil {
			t.Fatal(err)
		}
		return stripped.(*corev1.Pod)
	}
	notReady := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
	evicted := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: notReady}
	crashes := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: notReady, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "collector", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
	}}
	starts := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: notReady}
	collector := &unstructured.Unstructured{}
	collector.SetNamespace("tenant-acme")
	collector.SetName("gateway")
	for name, row := range map[string]struct {
		old, newest corev1.PodStatus
		want        []string
	}{
		"one that the kubelet evicted, beside one that starts": {evicted, starts, nil},
		"the newest pod, if it has ended itself":               {evicted, evicted, []string{"pod b: Evicted"}},
		"one that crashes, beside one that starts":             {crashes, starts, []string{"pod a: CrashLoopBackOff"}},
	} {
		w := writer{decoratedClient: decoratedClient{
			Client: fake.NewClientBuilder().WithObjects(pod("a", time.Hour, row.old), pod("b", time.Second, row.newest)).Build(),
		}}
		got, err := w.troubles(t.Context(), collector, &Workload{Pods: live.Pods{Wanted: 2, Updated: 1}})
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, row.want)
		}
	}
}
