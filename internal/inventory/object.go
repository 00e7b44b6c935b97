package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/managedfields"
	"github.com/kube8/kube8-operator/internal/postrender"
)

const (
	// AppliedAnnotation is on each object that the operator has applied: the hash of the object as it was rendered.
	AppliedAnnotation = "kube8.dev/applied"

	// CheckedAnnotation on a Secret of files and on a workload names the Job that has accepted the content and the pods. A
	// revert to what was checked needs no other check as long as the Secret is there.
	CheckedAnnotation = "kube8.dev/checked"

	// usesAnnotation is where the informer cache keeps what a workload's pods use. The API server does not have it.
	usesAnnotation = "uses"

	// orphanAnnotation is where the informer cache keeps that nothing controls a pod. The API server does not have it.
	orphanAnnotation = "orphan"
)

// Object is what is known of one object, without its content.
type Object struct {
	UID        types.UID
	Version    string // its resource version
	Created    time.Time
	Deleting   bool
	Finalizers []string

	Hash         string // of what the operator last applied; empty if it has applied nothing
	Digest       string // of what the operator has applied and nobody has changed since; empty if it has applied nothing
	OwnsReplicas bool   // the operator owns spec.replicas
	CoOwned      bool   // somebody else owns fields that the operator has applied, too
	Editor       string // who else has last written

	Checked    string               // the Job that has accepted it
	Ended      batchv1.JobCondition // how a Job has ended; empty while it runs
	References string               // which versions of what they refer to a workload's pods have
	Uses       string               // what a workload's pods use, as hashes of kind and name
	Replicas   int32                // how many pods a workload is to have
	Serves     bool                 // all pods of a workload are as its last change wants them, and at least one is there
}

// IsWorkload tells whether objects of a kind run the pods that serve.
func IsWorkload(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet"
}

// Running returns which versions of what they refer to the pods of a Collector's workload have.
func Running(objects map[Reference]Object) string {
	for _, object := range objects {
		if object.References != "" {
			return object.References
		}
	}
	return ""
}

// Of returns what is known of an object, as the API server or as the informer cache has it.
func Of(object client.Object) Object {
	kept, fields := object.GetAnnotations(), fieldsOf(object)
	o := Object{
		UID: object.GetUID(), Version: object.GetResourceVersion(), Created: object.GetCreationTimestamp().Time,
		Deleting: object.GetDeletionTimestamp() != nil, Finalizers: object.GetFinalizers(),
		Hash: fields.hash, Digest: fields.digest, OwnsReplicas: fields.replicas, CoOwned: fields.coOwned, Editor: fields.editor,
		Checked: kept[CheckedAnnotation], Ended: Ended(object), References: kept[postrender.ReferencesAnnotation], Uses: kept[usesAnnotation],
	}
	pods := PodsOf(object)
	o.Replicas, o.Serves = pods.Wanted, !pods.Behind && pods.Wanted > 0 && pods.Updated >= pods.Wanted && pods.Available >= pods.Wanted
	return o
}

// Pods is what a workload says of its pods.
type Pods struct {
	Behind                                 bool  // nobody has worked on its last change yet
	Wanted, Updated, Available, All, Ready int32 // how many pods
}

// PodsOf returns what an object says of its pods. Another object than a workload has none. Pods that are to stay old until somebody
// deletes them or moves the partition count as updated: nobody waits for them.
func PodsOf(object client.Object) Pods {
	switch of := object.(type) {
	case *appsv1.Deployment:
		s, wanted := of.Status, ptr.Deref(of.Spec.Replicas, 1)
		return Pods{s.ObservedGeneration < of.Generation, wanted, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas, s.ReadyReplicas}
	case *appsv1.StatefulSet:
		s, wanted, updated := of.Status, ptr.Deref(of.Spec.Replicas, 1), of.Status.UpdatedReplicas
		strategy, rolling := of.Spec.UpdateStrategy.Type, of.Spec.UpdateStrategy.RollingUpdate
		if strategy == appsv1.OnDeleteStatefulSetStrategyType || rolling != nil && ptr.Deref(rolling.Partition, 0) > 0 {
			updated = wanted
		}
		return Pods{s.ObservedGeneration < of.Generation, wanted, updated, s.AvailableReplicas, s.Replicas, s.ReadyReplicas}
	case *appsv1.DaemonSet:
		s, wanted, updated := of.Status, of.Status.DesiredNumberScheduled, of.Status.UpdatedNumberScheduled
		if of.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			updated = wanted
		}
		return Pods{s.ObservedGeneration < of.Generation, wanted, updated, s.NumberAvailable, s.CurrentNumberScheduled, s.NumberReady}
	}
	return Pods{}
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

// fields is what managedFields and annotations say of what the operator has applied. A client that changes one of its fields takes
// the field over, and managedFields change.
type fields struct {
	digest, hash string
	replicas     bool
	coOwned      bool
	editor       string
	data         string // digest of the data of a user's Secret or ConfigMap; only the informer cache has it
}

// fieldsOf returns the fields of an object, as the API server or as the informer cache has it.
func fieldsOf(object client.Object) fields {
	if kept := object.GetSelfLink(); kept != "" {
		part := strings.SplitN(kept, " ", 6)
		return fields{part[0], part[1], part[2] == "true", part[3] == "true", part[5], part[4]}
	}
	seen := fields{hash: strings.ReplaceAll(object.GetAnnotations()[AppliedAnnotation], " ", "")}
	_, seen.coOwned = managedfields.WithoutCoOwners(object.GetManagedFields())
	var last metav1.Time
	for _, entry := range object.GetManagedFields() {
		switch {
		case entry.Subresource != "":
		case !managedfields.IsOfOperator(entry):
			if entry.Time != nil && !entry.Time.Before(&last) {
				seen.editor, last = entry.Manager, *entry.Time
			}
		case managedfields.IsApplied(entry):
			seen.digest = digestOf(object, entry, seen.hash)
			seen.replicas = managedfields.Has(entry, "f:spec", "f:replicas")
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
	if stripped := fieldsOf(object).data; stripped != "" {
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
