package inventory

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// replicas stays with whoever owns it: an autoscaler may come to own it together with the operator.
var replicas = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas"))

// WithoutCoOwners returns managedFields without what others own of the fields that the operator has applied, and whether that is less:
// the API server removes a field that the operator no longer applies only if nobody else owns it.
func WithoutCoOwners(entries []metav1.ManagedFieldsEntry) (left []metav1.ManagedFieldsEntry, isLess bool) {
	at := slices.IndexFunc(entries, isOwn)
	if at < 0 || !slices.ContainsFunc(entries, isCoOwner) {
		return entries, false
	}
	applied, err := setOf(entries[at])
	if err != nil {
		return entries, false
	}
	applied = applied.Difference(replicas)
	for _, entry := range entries {
		if rest := less(entry, applied); rest != entry.FieldsV1 {
			isLess = true
			if entry.FieldsV1 = rest; rest == nil {
				continue
			}
		}
		left = append(left, entry)
	}
	return left, isLess
}

// less returns the fields of an entry without some if it is a co-owner's, or nil if none is left.
func less(entry metav1.ManagedFieldsEntry, applied *fieldpath.Set) *metav1.FieldsV1 {
	if !isCoOwner(entry) {
		return entry.FieldsV1
	}
	theirs, err := setOf(entry)
	if err != nil {
		return entry.FieldsV1
	}
	rest := theirs.Difference(applied)
	if rest.Equals(theirs) {
		return entry.FieldsV1
	}
	raw, err := rest.ToJSON()
	if rest.Empty() || err != nil {
		return nil
	}
	return &metav1.FieldsV1{Raw: raw}
}

// isOwn tells whether an entry has what the operator has applied.
func isOwn(entry metav1.ManagedFieldsEntry) bool {
	isApplied := entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.FieldsV1 != nil
	return isApplied && entry.Manager == Manager
}

// isCoOwner tells whether an entry may have what the operator has applied, too, and must not. It may be one in the operator's name.
func isCoOwner(entry metav1.ManagedFieldsEntry) bool {
	return !isOwn(entry) && entry.Subresource == "" && entry.FieldsV1 != nil && entry.Manager != Handover && entry.Manager != Adopter
}

func setOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) //nolint:wrapcheck // nobody tells it
}
