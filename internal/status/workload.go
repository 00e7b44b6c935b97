package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/packed"
)

// workloads are the kinds that run a collector.
var workloads = map[v1alpha1.Mode]schema.GroupVersionKind{
	v1alpha1.ModeDeployment:  {Group: "apps", Version: "v1", Kind: "Deployment"},
	v1alpha1.ModeDaemonSet:   {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	v1alpha1.ModeStatefulSet: {Group: "apps", Version: "v1", Kind: "StatefulSet"},
}

// unpacked returns what is read here of a workload that is as the informer cache keeps it.
func unpacked(workload *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var fields struct {
		Spec struct {
			Replicas       any `json:"replicas"`
			UpdateStrategy any `json:"updateStrategy"`
		} `json:"spec"`
		Status any `json:"status"`
	}
	if err := packed.Read(workload, &fields); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": workload.Object["kind"], "metadata": workload.Object["metadata"], "status": fields.Status,
		"spec": map[string]any{"replicas": fields.Spec.Replicas, "updateStrategy": fields.Spec.UpdateStrategy},
	}}, nil
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
