package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workloads are the kinds that run a collector, by the Collector's mode.
var workloads = map[string]schema.GroupVersionKind{
	"deployment":  {Group: "apps", Version: "v1", Kind: "Deployment"},
	"daemonset":   {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	"statefulset": {Group: "apps", Version: "v1", Kind: "StatefulSet"},
}

// readiness is what the condition Ready says.
type readiness struct {
	ready           bool
	reason, message string
}

// readinessOf says whether collector's release is what its spec says, and its pods serve.
func readinessOf(ctx context.Context, reader client.Reader, collector *unstructured.Unstructured) (readiness, error) {
	for _, condition := range conditions(collector) {
		if (condition["type"] == "Irreconcilable" || condition["type"] == "ReleaseFailed") && condition["status"] == "True" {
			return readiness{reason: "ReleaseFailed", message: fmt.Sprintf("not what spec says; see condition %s", condition["type"])}, nil
		}
	}
	mode, _, _ := unstructured.NestedString(collector.Object, "spec", "mode")
	if mode == "" {
		mode = "deployment"
	}
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(workloads[mode])
	err := reader.Get(ctx, client.ObjectKeyFromObject(collector), workload)
	if apierrors.IsNotFound(err) {
		return readiness{reason: "Progressing", message: workload.GetKind() + " not seen yet"}, nil
	}
	if err != nil {
		return readiness{}, fmt.Errorf("read %s %s: %w", workload.GetKind(), collector.GetName(), err)
	}
	return readinessOfWorkload(workload), nil
}

// readinessOfWorkload reads a workload's own account of its pods.
func readinessOfWorkload(workload *unstructured.Unstructured) readiness {
	wanted, updated, available, all := counts(workload)
	switch {
	case number(workload, 0, "status", "observedGeneration") < workload.GetGeneration():
		return readiness{reason: "Progressing", message: "the change is not worked on yet"}
	case updated < wanted:
		return readiness{reason: "Progressing", message: fmt.Sprintf("%d/%d updated", updated, wanted)}
	case available < wanted:
		return readiness{reason: "PodsNotReady", message: fmt.Sprintf("%d/%d available", available, wanted)}
	case all > wanted:
		return readiness{reason: "Progressing", message: fmt.Sprintf("%d/%d updated, %d more to end", updated, wanted, all-wanted)}
	}
	return readiness{ready: true, reason: "Available", message: fmt.Sprintf("%d/%d available", available, wanted)}
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
