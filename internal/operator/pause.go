package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// isPaused tells whether a Collector is paused. The library's handler pauses the deletion too, which then never ends, so one
// that is being deleted is not. The reconciler logs an error and goes on.
func isPaused(_ context.Context, collector *unstructured.Unstructured) (bool, error) {
	return v1alpha1.IsPaused(collector)
}
