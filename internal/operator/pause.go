package operator

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// isPaused tells whether a Collector is paused: its annotation says so, and it is not being deleted. The library's handler
// pauses the deletion too, which then never ends. An annotation that says neither yes nor no is an error and pauses
// nothing; the reconciler logs it and goes on.
func isPaused(_ context.Context, collector *unstructured.Unstructured) (bool, error) {
	value, ok := collector.GetAnnotations()[v1alpha1.PausedAnnotation]
	if !ok || collector.GetDeletionTimestamp() != nil {
		return false, nil
	}
	paused, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("annotation %s pauses nothing, set it to true or false: %w", v1alpha1.PausedAnnotation, err)
	}
	return paused, nil
}
