package live

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// KeepProof keeps of a pod in the informer cache what it proves of its template, if that has a stamp: since when it is ready, and how often
// its containers have ended.
func KeepProof(stripped, pod *corev1.Pod) {
	if pod.Annotations[postrender.TemplateAnnotation] == "" {
		return
	}
	if ready := readyOf(pod); ready != nil {
		stripped.Status.Conditions = []corev1.PodCondition{{
			Type: ready.Type, Status: ready.Status, LastTransitionTime: ready.LastTransitionTime,
		}}
	}
	stripped.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: deaths(pod)}}
}

// readySince returns when a pod became ready, or not ready, or else when it was created.
func readySince(pod *corev1.Pod) time.Time {
	if ready := readyOf(pod); ready != nil {
		return ready.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// readyOf returns the condition Ready of a pod, or nil.
func readyOf(pod *corev1.Pod) *corev1.PodCondition {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if at < 0 {
		return nil
	}
	return &pod.Status.Conditions[at]
}

// deaths counts how often containers of a pod have restarted or failed. A pod that the kubelet has ended for a reason of the node, such as
// Evicted, is not counted: its containers have not failed.
func deaths(pod *corev1.Pod) (count int32) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			count += statuses[i].RestartCount
			if ended := statuses[i].State.Terminated; ended != nil && ended.ExitCode != 0 && pod.Status.Reason == "" {
				count++
			}
		}
	}
	return count
}

// ProvesTheSame tells whether two versions of a pod in the informer cache prove the same of their template.
func ProvesTheSame(a, b *corev1.Pod) bool {
	after := PodOf(b)
	return after.Template == "" || PodOf(a) == after
}
