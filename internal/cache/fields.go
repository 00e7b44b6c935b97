package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// Fields is what managedFields and annotations say of what the operator has applied. A client that changes one of its fields takes
// the field over, and managedFields change.
type Fields struct {
	Digest, Hash string // of what was applied and has not changed since, and of what was rendered; empty if the operator has applied nothing
	Replicas     bool   // the operator owns spec.replicas
	CoOwned      bool   // another client owns fields that the operator has applied, too
	Editor       string // the field manager that was the last other one to write
	data         string // digest of the data of a user's Secret or ConfigMap; only the informer cache has it
}

// FieldsOf returns the fields of an object, as the API server or as the informer cache has it.
func FieldsOf(object client.Object) Fields {
	if kept := object.GetSelfLink(); kept != "" {
		part := strings.SplitN(kept, " ", 6)
		return Fields{part[0], part[1], part[2] == "true", part[3] == "true", part[5], part[4]}
	}
	seen := Fields{Hash: strings.ReplaceAll(object.GetAnnotations()[v1alpha1.AppliedAnnotation], " ", "")}
	_, seen.CoOwned = managedfields.WithoutCoOwners(object.GetManagedFields())
	var last metav1.Time
	for _, entry := range object.GetManagedFields() {
		switch {
		case entry.Subresource != "":
		case !managedfields.IsOfOperator(entry):
			if entry.Time != nil && !entry.Time.Before(&last) {
				seen.Editor, last = entry.Manager, *entry.Time
			}
		case managedfields.IsApplied(entry):
			seen.Digest = digestOf(object, entry, seen.Hash)
			seen.Replicas = managedfields.Has(entry, "f:spec", "f:replicas")
		}
	}
	return seen
}

// digestOf returns a hash of what the operator has applied: which fields, when, and the hash of the values. The data of a Secret
// that can change counts too: who may write it could give the operator's name as that of the field manager.
func digestOf(object client.Object, entry metav1.ManagedFieldsEntry, applied string) string {
	sum := sha256.New()
	var at int64
	if entry.Time != nil {
		at = entry.Time.Unix()
	}
	fmt.Fprintf(sum, "%s %d %s ", entry.APIVersion, at, applied)
	sum.Write(entry.FieldsV1.GetRawBytes())
	if secret, ok := object.(*corev1.Secret); ok && !ptr.Deref(secret.Immutable, false) {
		writeData(sum, secret.Data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// DataDigest tells versions of the data of a user's Secret or ConfigMap apart. object is as the informer cache has it, or whole.
func DataDigest(object client.Object) string {
	if stripped := FieldsOf(object).data; stripped != "" {
		return stripped
	}
	return digestOfData(object)
}

// digestOfData returns a hash of the data of a Secret or ConfigMap. It is empty for other objects.
func digestOfData(object client.Object) string {
	sum := sha256.New()
	switch whole := object.(type) {
	case *corev1.Secret:
		writeData(sum, whole.Data)
	case *corev1.ConfigMap:
		texts := map[string][]byte{}
		for key, text := range whole.Data {
			texts[key] = []byte(text)
		}
		writeData(sum, texts)
		writeData(sum, whole.BinaryData)
	default:
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func writeData(sum interface{ Write([]byte) (int, error) }, data map[string][]byte) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%d %s %d ", len(key), key, len(data[key]))
		_, _ = sum.Write(data[key])
	}
}

// Ended returns the condition that says how a Job ended, or an empty one.
func Ended(object client.Object) (end batchv1.JobCondition) {
	if job, ok := object.(*batchv1.Job); ok {
		for _, condition := range job.Status.Conditions {
			if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
				return condition
			}
		}
	}
	return end
}
