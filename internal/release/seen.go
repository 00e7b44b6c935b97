package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

const (
	// manager is the operator's name among the field managers of an object.
	manager = "kube8-operator"

	// handover is the field manager that keeps spec.replicas after the operator has given it up, until an autoscaler sets
	// it. It also keeps the label of what a Collector that has moved no longer renders.
	handover = "kube8-operator-handover"
)

// sight is what the operator needs to know of an object's content. The API server keeps in managedFields which fields the
// operator has applied: whoever changes one of them takes it over, and the record of what is the operator's changes.
type sight struct {
	digest   string // of what the operator has applied and nobody has changed since; empty if it has applied nothing
	replicas bool   // the operator owns spec.replicas
	legacy   bool   // the operator owns fields only as earlier versions of it wrote them, without applying
	editor   string // who else has last written
	data     string // digest of the data of a Secret or ConfigMap; only the informer cache has it
}

// sightOf returns the sight of an object, as the API server or as the informer cache has it.
func sightOf(object client.Object) sight {
	if kept := object.GetSelfLink(); kept != "" {
		part := strings.SplitN(kept, " ", 5)
		return sight{digest: part[0], replicas: part[1] == "true", legacy: part[2] == "true", data: part[3], editor: part[4]}
	}
	var seen sight
	var last metav1.Time
	for _, entry := range object.GetManagedFields() {
		switch {
		case entry.Subresource != "":
		case entry.Manager != manager && entry.Manager != handover:
			if entry.Time != nil && !entry.Time.Before(&last) {
				seen.editor, last = entry.Manager, *entry.Time
			}
		case entry.Manager == manager && entry.Operation != metav1.ManagedFieldsOperationApply:
			seen.legacy = true
		case entry.Manager == manager && entry.FieldsV1 != nil:
			seen.digest = digestOfFields(object, entry)
			seen.replicas = bytes.Contains(entry.FieldsV1.Raw, []byte(`"f:replicas":{}`))
		}
	}
	seen.legacy = seen.legacy && seen.digest == ""
	return seen
}

// digestOfFields returns a hash of what the operator has applied. A Secret's data counts too: who may write it could give
// the operator's name as that of the field manager.
func digestOfFields(object client.Object, entry metav1.ManagedFieldsEntry) string {
	sum := sha256.New()
	var applied int64
	if entry.Time != nil {
		applied = entry.Time.Unix()
	}
	fmt.Fprintf(sum, "%s %d ", entry.APIVersion, applied)
	sum.Write(entry.FieldsV1.Raw)
	if secret, ok := object.(*corev1.Secret); ok {
		writeData(sum, secret.Data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// DataDigest tells versions of the data of a Secret or ConfigMap apart. object is as the informer cache has it.
func DataDigest(object client.Object) string { return sightOf(object).data }

// filesAnnotation is where the informer cache keeps which files a workload's pods have, if an earlier version or a user named
// them.
const filesAnnotation = "kube8.dev/files"

// keepStamps keeps of a pod template what the next one is rendered from.
func keepStamps(kept *metav1.ObjectMeta, template *corev1.PodTemplateSpec) {
	if references := template.Annotations[postrender.ReferencesAnnotation]; references != "" {
		metav1.SetMetaDataAnnotation(kept, postrender.ReferencesAnnotation, references)
	}
	if files := postrender.Running(template); files != "" {
		metav1.SetMetaDataAnnotation(kept, filesAnnotation, files)
	}
}

// isController is true for each owner that the informer cache keeps.
var isController = true

// Strip leaves of an object what the informer cache is for: metadata, its sight, and a workload's account of its pods. The
// data of Secrets and ConfigMaps would let whoever can label them fill the operator's memory. It is for cache.Options.
func Strip(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil // the last known state of a deleted object
	}
	if object.GetSelfLink() != "" {
		return in, nil
	}
	seen := sightOf(object)
	seen.data = digestOfData(object)
	kept := metav1.ObjectMeta{
		Namespace: shared(object.GetNamespace()), Name: shared(object.GetName()),
		UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Generation: object.GetGeneration(), CreationTimestamp: object.GetCreationTimestamp(), DeletionTimestamp: object.GetDeletionTimestamp(),
		Finalizers: object.GetFinalizers(),
	}
	// The sight has the place of a field that the API server no longer fills, and lets nobody fill.
	kept.SetSelfLink(fmt.Sprintf("%s %t %t %s %s", seen.digest, seen.replicas, seen.legacy, seen.data, seen.editor))
	if owner := metav1.GetControllerOf(object); owner != nil {
		owner.APIVersion, owner.Kind, owner.Name = shared(owner.APIVersion), shared(owner.Kind), shared(owner.Name)
		owner.UID = types.UID(shared(string(owner.UID)))
		owner.Controller, owner.BlockOwnerDeletion = &isController, nil
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if job, marked := object.GetAnnotations()[checkedAnnotation]; marked {
		metav1.SetMetaDataAnnotation(&kept, checkedAnnotation, job)
	}
	switch whole := object.(type) {
	case *corev1.Secret:
		return &corev1.Secret{ObjectMeta: kept}, nil
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: kept}, nil
	case *appsv1.Deployment:
		keepStamps(&kept, &whole.Spec.Template)
		return &appsv1.Deployment{ObjectMeta: kept, Status: whole.Status, Spec: appsv1.DeploymentSpec{Replicas: whole.Spec.Replicas}}, nil
	case *appsv1.StatefulSet:
		keepStamps(&kept, &whole.Spec.Template)
		spec := appsv1.StatefulSetSpec{Replicas: whole.Spec.Replicas, UpdateStrategy: whole.Spec.UpdateStrategy}
		return &appsv1.StatefulSet{ObjectMeta: kept, Status: whole.Status, Spec: spec}, nil
	case *appsv1.DaemonSet:
		keepStamps(&kept, &whole.Spec.Template)
		spec := appsv1.DaemonSetSpec{UpdateStrategy: whole.Spec.UpdateStrategy}
		return &appsv1.DaemonSet{ObjectMeta: kept, Status: whole.Status, Spec: spec}, nil
	case *batchv1.Job:
		return &batchv1.Job{ObjectMeta: kept, Status: batchv1.JobStatus{Conditions: whole.Status.Conditions}}, nil
	case *metav1.PartialObjectMetadata:
		kind := metav1.TypeMeta{Kind: shared(whole.Kind), APIVersion: shared(whole.APIVersion)}
		return &metav1.PartialObjectMetadata{TypeMeta: kind, ObjectMeta: kept}, nil
	}
	return in, nil
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

// shared returns text that all equal texts share: the objects of a Collector have their names and owner in common.
func shared(text string) string { return unique.Make(text).Value() }

func writeData(sum interface{ Write([]byte) (int, error) }, data map[string][]byte) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%d %s %d ", len(key), key, len(data[key]))
		_, _ = sum.Write(data[key])
	}
}

// typed are the kinds that the informer cache has with more than their metadata: the stock reconciler watches Secrets so,
// the status has to know what workloads say of their pods, and a check ends with its Job.
var typed = sets.New(
	corev1.SchemeGroupVersion.WithKind("Secret"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"), appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
)

// objectOf returns an empty object of a kind, of the type that the informer cache has.
func objectOf(kind schema.GroupVersionKind) client.Object {
	if typed.Has(kind) {
		made, _ := scheme.Scheme.New(kind) // which knows it
		object, _ := made.(client.Object)
		return object
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

func listOf(kind schema.GroupVersionKind) client.ObjectList {
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	if typed.Has(kind) {
		made, _ := scheme.Scheme.New(listKind)
		list, _ := made.(client.ObjectList)
		return list
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(listKind)
	return list
}

func eachItem(list client.ObjectList, do func(client.Object)) {
	_ = meta.EachListItem(list, func(item runtime.Object) error { // fails for what is not a list
		if object, ok := item.(client.Object); ok {
			do(object)
		}
		return nil
	})
}
