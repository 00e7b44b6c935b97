// Package pause leaves a Collector alone for as long as its user wants that.
//
// It is the stock reconciler's pause handler. The one that the library has also pauses a Collector that is being
// deleted, which then never goes.
package pause

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Handler tells whether a Collector is paused: its annotation says so, and it is not being deleted. An annotation that
// says neither yes nor no is an error and pauses nothing; the reconciler logs it and goes on.
func Handler(_ context.Context, collector *unstructured.Unstructured) (bool, error) {
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
