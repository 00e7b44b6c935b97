package release

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects are applied in stages: those of one together, and those of the next when they are done.
const (
	needs     = iota // what pods need, and what protects them, is there before they are
	checks           // the Job that has to accept a change before pods get it
	workloads        // what runs pods
	others           // what reads the two above: autoscalers, monitors
	stages
)

var stageOf = map[string]int{
	"ServiceAccount": needs, "Secret": needs, "ConfigMap": needs, "PersistentVolumeClaim": needs,
	"Service": needs, "NetworkPolicy": needs, "PodDisruptionBudget": needs,
	"Job":        checks,
	"Deployment": workloads, "DaemonSet": workloads, "StatefulSet": workloads,
}

func stage(object *unstructured.Unstructured) int {
	if found, known := stageOf[object.GetKind()]; known {
		return found
	}
	return others
}

// inOrder returns objects by stage.
func inOrder(objects []*unstructured.Unstructured) (ordered [stages][]*unstructured.Unstructured) {
	for _, object := range objects {
		ordered[stage(object)] = append(ordered[stage(object)], object)
	}
	return ordered
}

// together does something with each item, at the same time.
func together[T any](items []T, do func(T)) {
	var doing sync.WaitGroup
	for _, item := range items {
		doing.Go(func() { do(item) })
	}
	doing.Wait()
}
