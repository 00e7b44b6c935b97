package inventory

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Pod is what is known of a pod whose template has a stamp.
type Pod struct {
	Name     string
	Template string    // the stamp
	Since    time.Time // when it became ready, or not ready
	Ready    bool
	Ending   bool   // it is being deleted
	Died     bool   // a container has restarted or failed
	Trouble  string // what keeps it from serving, in the kubelet's words
}

// Pods returns the Collector's pods that have a stamp of their template, by the informer cache.
func (r *Reader) Pods(ctx context.Context, collector client.Object) (found []Pod, err error) {
	var pods corev1.PodList
	err = r.Cache.List(ctx, &pods, client.InNamespace(collector.GetNamespace()),
		client.MatchingLabels{v1alpha1.CollectorLabel: collector.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the Collector's pods in the informer cache: %w", err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Annotations[postrender.TemplateAnnotation] != "" {
			found = append(found, podOf(pod))
		}
	}
	return found, nil
}

// podOf returns what is known of a pod, as KeepProof keeps it.
func podOf(pod *corev1.Pod) Pod {
	known := Pod{
		Name: pod.Name, Template: pod.Annotations[postrender.TemplateAnnotation], Since: pod.CreationTimestamp.Time,
		Ending: pod.DeletionTimestamp != nil, Died: Deaths(pod) > 0, Trouble: pod.Status.Reason,
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			known.Ready, known.Since = condition.Status == corev1.ConditionTrue, condition.LastTransitionTime.Time
		}
	}
	return known
}

// KeepProof keeps of a pod in the informer cache what it proves of its template, if that has a stamp: since when it is ready, and how often
// its containers have ended.
func KeepProof(stripped, pod *corev1.Pod) {
	if pod.Annotations[postrender.TemplateAnnotation] == "" {
		return
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			stripped.Status.Conditions = []corev1.PodCondition{{
				Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime,
			}}
		}
	}
	stripped.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: Deaths(pod)}}
}

// Deaths counts how often containers of a pod have restarted or failed. A pod that the kubelet has ended for a reason of the node, such as
// Evicted, is not counted: its containers have not failed.
func Deaths(pod *corev1.Pod) (count int32) {
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

// SaysTheSame tells whether two versions of a pod in the informer cache prove the same.
func SaysTheSame(a, b *corev1.Pod) bool { return podOf(a) == podOf(b) }
