package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The owner reference says that it is the Collector's, but the operator has not created it.
func TestAWorkloadThatSelectsOtherPodsIsRefusedWithAFix(t *testing.T) {
	selector := invalid(metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector", Message: "field is immutable"})
	cluster := &script{refuse: onlyWhen(func(Request) bool { return true }, selector)}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Change, "Deployment", "1")}})
	if err == nil || !strings.HasSuffix(err.Error(), "delete it, and the operator creates it again") {
		t.Errorf("got error %v", err)
	}
}
