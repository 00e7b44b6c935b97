package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// find returns a condition of status itself, not a copy, or nil.
func find(status *v1alpha1.CollectorStatus, conditionType string) *v1alpha1.Condition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == conditionType {
			return &status.Conditions[i]
		}
	}
	return nil
}

func isTrue(status *v1alpha1.CollectorStatus, conditionType string) bool {
	condition := find(status, conditionType)
	return condition != nil && condition.Status == "True"
}

// set sets a condition of status, without a time. Conditions are sorted by type, as the reconciler sorts them, so that their order says
// nothing new.
func set(status *v1alpha1.CollectorStatus, condition v1alpha1.Condition) {
	condition.LastTransitionTime = metav1.Time{}
	if existing := find(status, condition.Type); existing != nil {
		*existing = condition
		return
	}
	status.Conditions = append(status.Conditions, condition)
	slices.SortFunc(status.Conditions, func(a, b v1alpha1.Condition) int { return strings.Compare(a.Type, b.Type) })
}

func unset(status *v1alpha1.CollectorStatus, conditionType string) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c v1alpha1.Condition) bool { return c.Type == conditionType })
}

// setTransitionTimes gives each condition of after the time of before if its status has stayed the same, and now if it has none.
func setTransitionTimes(before, after *v1alpha1.CollectorStatus, now metav1.Time) {
	for i := range after.Conditions {
		condition := &after.Conditions[i]
		if old := find(before, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		} else if condition.LastTransitionTime.IsZero() {
			condition.LastTransitionTime = now
		}
	}
}
