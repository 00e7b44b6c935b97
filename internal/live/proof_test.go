package live

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

func TestAPodInTheCacheKeepsWhatItProves(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	stamped := map[string]string{postrender.TemplateAnnotation: "new"}
	for name, row := range map[string]struct {
		annotations map[string]string
		status      corev1.PodStatus
		want        Pod
	}{
		"since when it is ready": {
			stamped, corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: noon},
			}}, Pod{Template: "new", Ready: true, Since: noon.Time},
		},
		"that a container has restarted": {
			stamped, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{}, {RestartCount: 2}}}, Pod{Template: "new", Died: true},
		},
		"that an init container has failed": {
			stamped, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{State: ended(3)}}}, Pod{Template: "new", Died: true},
		},
		"an init container that has done its work is no failure": {
			stamped, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{State: ended(0)}}}, Pod{Template: "new"},
		},
		"a pod that the kubelet evicted has not failed": {
			stamped, corev1.PodStatus{Reason: "Evicted", ContainerStatuses: []corev1.ContainerStatus{{State: ended(137)}}}, Pod{Template: "new"},
		},
		"nothing without a stamp": {
			nil, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}}}, Pod{},
		},
	} {
		stripped := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: row.annotations}}
		KeepProof(stripped, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: row.annotations}, Status: row.status})
		if stripped.Labels = map[string]string{v1alpha1.CollectorLabel: "c"}; row.want.Ready { // as StripPod does
			stripped.Status.PodIP = "10.0.0.1"
		}
		if got := PodOf(stripped); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}
