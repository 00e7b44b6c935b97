package kubectl

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAContinueCountsForARingThatEndedInTheSameSecond(t *testing.T) {
	ended := time.Now()
	var metadata metav1.ObjectMeta
	err := json.Unmarshal([]byte(continuedNow()), &metadata)
	continued, parseErr := time.Parse(time.RFC3339, metadata.Annotations[v1alpha1.ContinuedAnnotation]) // as the operator reads it
	if err != nil || parseErr != nil || continued.Before(ended) {
		t.Errorf("continued at %s, and the ring ended at %s (%v, %v)", continued, ended, err, parseErr)
	}
}
