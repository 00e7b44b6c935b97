package inventory

import (
	"fmt"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// isController is true for each owner that the informer cache keeps.
var isController = true

// Strip leaves of an object what the informer cache is for: metadata, what managedFields say, and a workload's account of its
// pods. The data of Secrets and ConfigMaps would let whoever can label them fill the operator's memory. It is for cache.Options.
func Strip(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil // the last known state of a deleted object
	}
	if object.GetSelfLink() != "" {
		return in, nil
	}
	seen := fieldsOf(object)
	kept := metav1.ObjectMeta{
		Namespace: shared(object.GetNamespace()), Name: shared(object.GetName()),
		UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Generation: object.GetGeneration(), CreationTimestamp: object.GetCreationTimestamp(), DeletionTimestamp: object.GetDeletionTimestamp(),
		Finalizers: object.GetFinalizers(),
	}
	owner := metav1.GetControllerOf(object)
	if owner != nil {
		owner.APIVersion, owner.Kind, owner.Name = shared(owner.APIVersion), shared(owner.Kind), shared(owner.Name)
		owner.UID = types.UID(shared(string(owner.UID)))
		owner.Controller, owner.BlockOwnerDeletion = &isController, nil
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if owner == nil || owner.Kind != "Collector" {
		seen.data = digestOfData(object)
	}
	// The fields have the place of one that the API server no longer fills, and lets nobody fill.
	kept.SetSelfLink(fmt.Sprintf("%s %s %t %t %s %s", seen.digest, seen.hash, seen.replicas, seen.coOwned, seen.data, seen.editor))
	if job, marked := object.GetAnnotations()[CheckedAnnotation]; marked {
		metav1.SetMetaDataAnnotation(&kept, CheckedAnnotation, job)
	}
	switch whole := object.(type) {
	case *corev1.Secret:
		return &corev1.Secret{ObjectMeta: kept}, nil
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: kept}, nil
	case *appsv1.Deployment:
		keepTemplate(&kept, &whole.Spec.Template)
		return &appsv1.Deployment{ObjectMeta: kept, Status: whole.Status, Spec: appsv1.DeploymentSpec{Replicas: whole.Spec.Replicas}}, nil
	case *appsv1.StatefulSet:
		keepTemplate(&kept, &whole.Spec.Template)
		spec := appsv1.StatefulSetSpec{Replicas: whole.Spec.Replicas, UpdateStrategy: whole.Spec.UpdateStrategy}
		return &appsv1.StatefulSet{ObjectMeta: kept, Status: whole.Status, Spec: spec}, nil
	case *appsv1.DaemonSet:
		keepTemplate(&kept, &whole.Spec.Template)
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

// keepTemplate keeps of a pod template what the next one is rendered from, and what its pods use.
func keepTemplate(kept *metav1.ObjectMeta, template *corev1.PodTemplateSpec) {
	if references := template.Annotations[postrender.ReferencesAnnotation]; references != "" {
		metav1.SetMetaDataAnnotation(kept, postrender.ReferencesAnnotation, references)
	}
	KeepUses(kept, &template.Spec)
}

// KeepPod keeps of a pod what it uses, and that nothing controls it.
func KeepPod(kept *metav1.ObjectMeta, pod *corev1.Pod) {
	KeepUses(kept, &pod.Spec)
	if metav1.GetControllerOfNoCopy(pod) == nil {
		metav1.SetMetaDataAnnotation(kept, orphanAnnotation, "")
	}
}

// KeepUses keeps what pods of a specification cannot start without, as kind and name, sorted, in metadata for the informer cache.
func KeepUses(kept *metav1.ObjectMeta, pod *corev1.PodSpec) {
	var uses []string
	if pod.ServiceAccountName != "" {
		uses = append(uses, "ServiceAccount/"+pod.ServiceAccountName)
	}
	for _, volume := range pod.Volumes {
		switch {
		case volume.Secret != nil:
			uses = append(uses, "Secret/"+volume.Secret.SecretName)
		case volume.ConfigMap != nil:
			uses = append(uses, "ConfigMap/"+volume.ConfigMap.Name)
		case volume.PersistentVolumeClaim != nil:
			uses = append(uses, "PersistentVolumeClaim/"+volume.PersistentVolumeClaim.ClaimName)
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil {
					uses = append(uses, "Secret/"+source.Secret.Name)
				}
				if source.ConfigMap != nil {
					uses = append(uses, "ConfigMap/"+source.ConfigMap.Name)
				}
			}
		}
	}
	slices.Sort(uses)
	metav1.SetMetaDataAnnotation(kept, usesAnnotation, strings.Join(slices.Compact(uses), " "))
}

// shared returns text that all equal texts share: the objects of a Collector have their names and owner in common.
func shared(text string) string { return unique.Make(text).Value() }

// typed are the kinds that the informer cache has with more than their metadata: the status has to know what workloads say of
// their pods, a check ends with its Job, and a user's Secret has a digest of its data.
var typed = sets.New(
	corev1.SchemeGroupVersion.WithKind("Secret"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"), appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
)

// New returns an empty object of a kind, of the type that the informer cache has.
func New(kind schema.GroupVersionKind) client.Object {
	if typed.Has(kind) {
		made, _ := scheme.Scheme.New(kind) // which knows it
		object, _ := made.(client.Object)
		return object
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// newList returns an empty list of objects of a kind, of the type that the informer cache has.
func newList(kind schema.GroupVersionKind) client.ObjectList {
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
