package cache

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

const (
	// These are how many bytes the informer cache keeps of a reason, a hash or a UID, of a name, and of a message.
	longestWord, longestName, longestMessage = 36, 64, 256

	// longestReferences is the same of what a workload's pods refer to, if the operator seems to have applied it.
	longestReferences = 8 << 10

	// mostFinalizers and mostUses are how many of them it keeps.
	mostFinalizers, mostUses = 2, 16

	collectorKind = "Collector"

	// NoReplicaSet is the reason of a Deployment whose ReplicaSet the API server refuses. Only its message tells why
	// (k8s.io/kubernetes, pkg/controller/deployment/util/deployment_util.go, FailedRSCreateReason).
	NoReplicaSet = "ReplicaSetCreateError"
)

// isController is true for each owner that the informer cache keeps.
var isController = true

// bounded returns the begin of a text, without the memory of the rest.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(text[:most])
}

// BoundedMessage returns the begin of a message.
func BoundedMessage(message string) string {
	return strings.ToValidUTF8(bounded(message, longestMessage), "")
}

// boundedOwner returns an object's controller. Only a Collector's name and API are asked for.
func boundedOwner(owner *metav1.OwnerReference) metav1.OwnerReference {
	uid := shared(bounded(string(owner.UID), longestWord))
	kept := metav1.OwnerReference{Kind: shared(bounded(owner.Kind, longestWord)), UID: types.UID(uid), Controller: &isController}
	if kept.Kind == collectorKind {
		kept.APIVersion, kept.Name = shared(bounded(owner.APIVersion, longestWord)), shared(bounded(owner.Name, longestName))
	}
	return kept
}

// boundedFinalizers returns the first finalizers. The one of a deletion that orphans comes before others, because it is asked for.
func boundedFinalizers(all []string) []string {
	var kept []string
	if slices.Contains(all, metav1.FinalizerOrphanDependents) {
		kept = append(kept, metav1.FinalizerOrphanDependents)
	}
	for _, finalizer := range all {
		if finalizer != metav1.FinalizerOrphanDependents && len(kept) < mostFinalizers {
			kept = append(kept, bounded(finalizer, longestName))
		}
	}
	return kept
}

// boundedConditions returns the conditions of a Deployment that the status tells of.
func boundedConditions(all []appsv1.DeploymentCondition) (kept []appsv1.DeploymentCondition) {
	for _, condition := range all {
		one := appsv1.DeploymentCondition{Type: condition.Type, Status: condition.Status, Reason: bounded(condition.Reason, longestWord)}
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure, condition.Reason == NoReplicaSet:
			one.Message = BoundedMessage(condition.Message)
		case condition.Type == appsv1.DeploymentProgressing:
		default:
			continue
		}
		kept = append(kept, one)
	}
	return kept
}

// keepTemplate keeps of a pod template what the next one is rendered from, and what its pods use.
func keepTemplate(kept *metav1.ObjectMeta, template *corev1.PodTemplateSpec, isMade bool) {
	references := template.Annotations[postrender.ReferencesAnnotation]
	if references != "" && isMade && len(references) <= longestReferences {
		metav1.SetMetaDataAnnotation(kept, postrender.ReferencesAnnotation, references)
	}
	keepUses(kept, template.Labels[v1alpha1.CollectorLabel], &template.Spec)
}

// KeepPod keeps of a pod what it uses, which claims of a StatefulSet it has, and which template it has if that is stamped on it. It also
// keeps which DaemonSet controls it, that a StatefulSet has made the pod and nothing controls it, or that it has ended.
func KeepPod(kept *metav1.ObjectMeta, pod *corev1.Pod) {
	keepUses(kept, pod.Labels[v1alpha1.CollectorLabel], &pod.Spec)
	keepClaims(kept, claimsOf(pod))
	if template := pod.Annotations[postrender.TemplateAnnotation]; template != "" {
		metav1.SetMetaDataAnnotation(kept, postrender.TemplateAnnotation, bounded(template, longestWord))
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil && owner.Kind == "DaemonSet" {
		metav1.SetMetaDataAnnotation(kept, DaemonSetAnnotation, shared(bounded(string(owner.UID), longestWord)))
	}
	isOfSet := pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name // a user's pod can have such a name, too
	if isOfSet && owner == nil {
		metav1.SetMetaDataAnnotation(kept, OrphanAnnotation, "")
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		metav1.SetMetaDataAnnotation(kept, EndedAnnotation, "")
	}
	if isOfSet && !IsReady(pod) {
		metav1.SetMetaDataAnnotation(kept, RevisionAnnotation, shared(bounded(pod.Labels[appsv1.ControllerRevisionHashLabelKey], longestName)))
	}
}

// HasEnded tells whether a pod in the informer cache has ended, as one that the kubelet has evicted.
func HasEnded(pod *corev1.Pod) bool {
	_, has := pod.Annotations[EndedAnnotation]
	return has
}

// IsReady tells whether the condition Ready of a pod is True.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
