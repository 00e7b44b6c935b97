package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// maxManagers is how many owners of fields a page names.
const maxManagers = 3

// revision is one that the operator has recorded. The records are Secrets, which the portal cannot read, so this is what the status says.
type revision struct {
	v1alpha1.RecordedRevision
	Changed    string // what has changed since the revision before, if that is known
	IsDeployed bool
}

// recall adds what is known of the changes of a Collector.
func (s *screen) recall(live *unstructured.Unstructured) {
	if was := before(live); was != nil {
		spec, _, _ := unstructured.NestedMap(live.Object, "spec")
		s.HasBefore, s.Changes = true, differences(was, spec)
	}
	s.ChangedBy, s.Revisions = cache.ChangerOf(live), revisionsOf(&s.Collector.Status)
	// The operator writes a finalizer, and no field of the spec.
	s.Managers = slices.DeleteFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource != "" || m.Time == nil || m.FieldsV1 == nil || !managedfields.Has(m, "f:spec")
	})
	slices.SortFunc(s.Managers, func(a, b metav1.ManagedFieldsEntry) int { return b.Time.Compare(a.Time.Time) })
	s.Managers = s.Managers[:min(len(s.Managers), maxManagers)]
}

// revisionsOf returns the revisions that a status lists, newest first.
func revisionsOf(status *v1alpha1.CollectorStatus) (found []revision) {
	for i, recorded := range status.History {
		is := revision{RecordedRevision: recorded}
		switch {
		case recorded.Revision == 1:
			is.Changed = "The Collector is new."
		case i > 0 && recorded.Generation > 0 && recorded.Generation == status.History[i-1].Generation:
			is.Changed = "A base, the operator or a Secret that the spec refers to."
		case i > 0 && status.History[i-1].Generation > 0 && recorded.Generation > 0:
			is.Changed = "The spec."
		}
		is.IsDeployed = status.DeployedRelease != nil && status.DeployedRelease.Revision == recorded.Revision
		found = append(found, is)
	}
	slices.Reverse(found)
	return found
}
