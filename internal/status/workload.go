package status

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// workloads make an empty object of the kind that runs a collector.
var workloads = map[v1alpha1.Mode]func() client.Object{
	v1alpha1.ModeDeployment:  func() client.Object { return &appsv1.Deployment{} },
	v1alpha1.ModeDaemonSet:   func() client.Object { return &appsv1.DaemonSet{} },
	v1alpha1.ModeStatefulSet: func() client.Object { return &appsv1.StatefulSet{} },
}

// parsed returns a workload in the form in which its fields can be read alike, whatever its kind.
func parsed(workload client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(workload)
	if err != nil {
		return nil, fmt.Errorf("read workload %s: %w", workload.GetName(), err)
	}
	if _, ok := workload.(*appsv1.DaemonSet); ok {
		fields["kind"] = "DaemonSet"
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// readinessOfWorkload reads a workload's own account of its pods. troubles are what keeps pods from serving.
func readinessOfWorkload(workload *unstructured.Unstructured, troubles []string) readiness {
	wanted, updated, available, all := counts(workload)
	reason, message := v1alpha1.ReasonProgressing, "the change is not worked on yet"
	switch {
	case number(workload, 0, "status", "observedGeneration") < workload.GetGeneration():
	case updated < wanted:
		message = fmt.Sprintf("%d/%d updated", updated, wanted)
	case available < wanted:
		message = fmt.Sprintf("%d/%d available", available, wanted)
		if !isRollingOut(workload) {
			reason = v1alpha1.ReasonPodsNotReady
		}
	case all > wanted:
		message = fmt.Sprintf("%d/%d updated, %d more to end", updated, wanted, all-wanted)
	default:
		return readiness{corev1.ConditionTrue, v1alpha1.ReasonAvailable, fmt.Sprintf("%d/%d available", available, wanted)}
	}
	if len(troubles) > 0 {
		reason, message = v1alpha1.ReasonPodsNotReady, message+"; "+strings.Join(troubles, "; ")
	}
	return readiness{corev1.ConditionFalse, reason, message}
}

// isRollingOut tells whether a Deployment's pods are on their way for the first time since it changed.
func isRollingOut(workload *unstructured.Unstructured) bool {
	reason := workloadCondition(workload, "Progressing")["reason"]
	return reason == "NewReplicaSetCreated" || reason == "ReplicaSetUpdated"
}

// workloadTroubles are what a Deployment says of pods that cannot be made.
func workloadTroubles(workload *unstructured.Unstructured) []string {
	var troubles []string
	if failure := workloadCondition(workload, "ReplicaFailure"); failure["status"] == "True" {
		troubles = append(troubles, fmt.Sprintf("%v: %v", failure["reason"], failure["message"]))
	}
	if progressing := workloadCondition(workload, "Progressing"); progressing["reason"] == "ProgressDeadlineExceeded" {
		troubles = append(troubles, "ProgressDeadlineExceeded")
	}
	return troubles
}

func workloadCondition(workload *unstructured.Unstructured, conditionType string) map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(workload.Object, "status", "conditions")
	items, _ := list.([]any)
	for _, item := range items {
		if condition, ok := item.(map[string]any); ok && condition["type"] == conditionType {
			return condition
		}
	}
	return nil
}

// pods returns how many pods a workload has, and how many of them are ready.
func pods(workload *unstructured.Unstructured) (all, ready int64) {
	if workload == nil {
		return 0, 0
	}
	of, readyOf := "replicas", "readyReplicas"
	if workload.GetKind() == "DaemonSet" {
		of, readyOf = "currentNumberScheduled", "numberReady"
	}
	return number(workload, 0, "status", of), number(workload, 0, "status", readyOf)
}

// counts returns how many pods a workload wants, has in its newest version, has available, and has at all.
func counts(workload *unstructured.Unstructured) (wanted, updated, available, all int64) {
	if workload.GetKind() == "DaemonSet" {
		wanted = number(workload, 0, "status", "desiredNumberScheduled")
		updated = number(workload, 0, "status", "updatedNumberScheduled")
		available = number(workload, 0, "status", "numberAvailable")
		all = wanted // it runs at most one pod beside a wanted one, for a moment
	} else {
		wanted = number(workload, 1, "spec", "replicas")
		updated = number(workload, 0, "status", "updatedReplicas")
		available = number(workload, 0, "status", "availableReplicas")
		all = number(workload, 0, "status", "replicas")
	}
	// Pods that are to stay old until somebody deletes them or moves the partition are not waited for.
	strategy, _, _ := unstructured.NestedString(workload.Object, "spec", "updateStrategy", "type")
	partition := number(workload, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	if strategy == "OnDelete" || partition > 0 {
		updated = wanted
	}
	return wanted, updated, available, all
}

func number(obj *unstructured.Unstructured, missing int64, path ...string) int64 {
	value, found, err := unstructured.NestedInt64(obj.Object, path...)
	if err != nil || !found {
		return missing
	}
	return value
}
