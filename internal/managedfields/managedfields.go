// Package managedfields is about which field manager owns which fields of an object. The operator owns what it has applied.
package managedfields

import (
	"bytes"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// Manager is the operator's name among the field managers of an object.
	Manager = "kube8-operator"

	// Handover is the field manager that keeps spec.replicas after the operator has given it up, until an autoscaler sets it.
	Handover = "kube8-operator-handover"

	// Adopter is the field manager of the label of an object that had lost it, and of the owner of a claim that had.
	Adopter = "kube8-operator-adopt"
)

// replicas stays with its owner: an autoscaler may come to own it together with the operator.
var replicas = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas"))

// WithoutCoOwners returns managedFields without what others own of the fields that the operator has applied, and whether that is less:
// the API server removes a field that the operator no longer applies only if it has no other owner.
func WithoutCoOwners(entries []metav1.ManagedFieldsEntry) (left []metav1.ManagedFieldsEntry, isLess bool) {
	if !slices.ContainsFunc(entries, isCoOwner) { // mostly, and sooner seen
		return entries, false
	}
	applied := appliedIn(entries)
	if applied == nil {
		return entries, false
	}
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
	return metav1.NewFieldsV1(string(raw))
}

// IsApplied tells whether an entry has what the operator has applied.
func IsApplied(entry metav1.ManagedFieldsEntry) bool {
	isApplied := entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.FieldsV1 != nil
	return isApplied && entry.Manager == Manager
}

// appliedIn returns what the operator has applied, without the number of pods, or nil if it has applied nothing.
func appliedIn(entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	at := slices.IndexFunc(entries, IsApplied)
	if at < 0 {
		return nil
	}
	applied, err := setOf(entries[at])
	if err != nil {
		return nil
	}
	return applied.Difference(replicas)
}

// Applied returns the paths of the fields that the operator has applied, by their names. It leaves out those below the items of a list, and
// the number of pods.
func Applied(entries []metav1.ManagedFieldsEntry) (paths [][]string) {
	applied := appliedIn(entries)
	if applied == nil {
		return nil
	}
	applied.Leaves().Iterate(func(path fieldpath.Path) {
		var names []string
		for _, element := range path {
			if element.FieldName == nil {
				return
			}
			names = append(names, *element.FieldName)
		}
		paths = append(paths, names)
	})
	return paths
}

// isCoOwner tells whether an entry may have what the operator has applied, too, and must not. It may be one in the operator's name.
func isCoOwner(entry metav1.ManagedFieldsEntry) bool {
	return !IsApplied(entry) && entry.Subresource == "" && entry.FieldsV1 != nil && entry.Manager != Handover && entry.Manager != Adopter
}

func setOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(entry.FieldsV1.GetRawReader()) //nolint:wrapcheck // no caller reports it
}

// IsOfOperator tells whether an entry has one of the operator's field managers.
func IsOfOperator(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == Manager || entry.Manager == Handover || entry.Manager == Adopter
}

// OnlyOf returns the field manager that owns all that is owned below a path, or nothing if there are several, or none.
func OnlyOf(entries []metav1.ManagedFieldsEntry, path ...string) (only string) {
	for _, entry := range entries {
		switch {
		case entry.Subresource != "" || entry.FieldsV1 == nil || !Has(entry, path...):
		case only != "" && only != entry.Manager:
			return ""
		default:
			only = entry.Manager
		}
	}
	return only
}

// Has tells whether an entry has the field at a path.
func Has(entry metav1.ManagedFieldsEntry, path ...string) bool {
	raw := entry.FieldsV1.GetRawBytes()
	if !bytes.Contains(raw, []byte(path[len(path)-1])) { // mostly, and sooner seen
		return false
	}
	for _, name := range path {
		var set map[string]json.RawMessage
		if json.Unmarshal(raw, &set) != nil || set[name] == nil {
			return false
		}
		raw = set[name]
	}
	return true
}
