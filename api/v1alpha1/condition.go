package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ConditionOf returns a condition of a Collector, or an empty one if the status has none of that type. It
// copies no part of the Collector, so that a client can look at a whole fleet.
func ConditionOf(collector *unstructured.Unstructured, conditionType string) (found Condition) {
	status, _ := collector.Object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		if fields, _ := item.(map[string]any); fields["type"] == conditionType {
			is, _ := fields["status"].(string)
			since, _ := fields["lastTransitionTime"].(string)
			found.Type, found.Status = conditionType, corev1.ConditionStatus(is)
			found.Reason, _ = fields["reason"].(string)
			found.Message, _ = fields["message"].(string)
			if at, err := time.Parse(time.RFC3339, since); err == nil {
				found.LastTransitionTime = metav1.NewTime(at)
			}
		}
	}
	return found
}
