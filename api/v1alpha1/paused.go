package v1alpha1

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PausedAnnotation pauses a Collector while its value is true, in a form that strconv.ParseBool takes: its spec is not
// followed, and its objects are left alone. A paused Collector can be deleted.
const PausedAnnotation = "kube8.dev/paused"

// IsPaused tells whether a Collector is paused: its annotation says so, and it is not being deleted. An annotation that says
// neither yes nor no is an error and pauses nothing.
func IsPaused(collector metav1.Object) (bool, error) {
	value, found := collector.GetAnnotations()[PausedAnnotation]
	if !found || collector.GetDeletionTimestamp() != nil {
		return false, nil
	}
	paused, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("metadata.annotations[%s] is %.64q, which pauses nothing; set it to \"true\" or \"false\", or remove it",
			PausedAnnotation, value)
	}
	return paused, nil
}
