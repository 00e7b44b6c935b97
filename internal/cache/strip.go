// Package cache is what informers keep of objects, and why that stays small: metadata, what managedFields say, and a workload's account
// of its pods. Each text has a limit. Digests and the like are kept in fields and annotations that no client can fill.
package cache

import (
	"fmt"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Strip leaves of an object what the informer cache is for: metadata, what managedFields say, and a workload's account of its
// pods. Each text has a limit, because anybody who can label objects could fill the operator's memory with it. It is for cache.Options.
func Strip(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil // the last known state of a deleted object
	}
	if object.GetSelfLink() != "" {
		return in, nil
	}
	seen := FieldsOf(object)
	kept := metav1.ObjectMeta{
		Namespace: shared(object.GetNamespace()), Name: shared(object.GetName()),
		UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Generation: object.GetGeneration(), CreationTimestamp: object.GetCreationTimestamp(), DeletionTimestamp: object.GetDeletionTimestamp(),
		Finalizers: boundedFinalizers(object.GetFinalizers()),
	}
	isMade := false
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		isMade = owner.Kind == collectorKind && seen.Digest != ""
		kept.OwnerReferences = []metav1.OwnerReference{boundedOwner(owner)}
	}
	if len(kept.OwnerReferences) == 0 || kept.OwnerReferences[0].Kind != collectorKind {
		seen.data = digestOfData(object)
	}
	// The fields have the place of one that the API server no longer fills, and lets nobody fill.
	kept.SetSelfLink(fmt.Sprintf("%s %s %t %t %s %s",
		seen.Digest, bounded(seen.Hash, longestWord), seen.Replicas, seen.CoOwned, seen.data, bounded(seen.Editor, longestName)))
	if job, marked := object.GetAnnotations()[v1alpha1.CheckedAnnotation]; marked {
		metav1.SetMetaDataAnnotation(&kept, v1alpha1.CheckedAnnotation, bounded(job, longestName))
	}
	return withStatus(kept, object, isMade), nil
}

// withStatus returns an object with metadata for the informer cache, and with what it says of its pods or of its end.
func withStatus(kept metav1.ObjectMeta, object client.Object, isMade bool) client.Object {
	switch whole := object.(type) {
	case *corev1.Secret:
		return &corev1.Secret{ObjectMeta: kept}
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: kept}
	case *appsv1.Deployment:
		keepTemplate(&kept, &whole.Spec.Template, isMade)
		status := whole.Status
		status.Conditions = boundedConditions(status.Conditions)
		return &appsv1.Deployment{ObjectMeta: kept, Status: status, Spec: appsv1.DeploymentSpec{Replicas: whole.Spec.Replicas}}
	case *appsv1.StatefulSet:
		keepTemplate(&kept, &whole.Spec.Template, isMade)
		var names []string
		for i := range whole.Spec.VolumeClaimTemplates {
			names = append(names, whole.Spec.VolumeClaimTemplates[i].Name)
		}
		keepClaims(&kept, names)
		spec := appsv1.StatefulSetSpec{Replicas: whole.Spec.Replicas}
		spec.UpdateStrategy.Type = whole.Spec.UpdateStrategy.Type
		if rolling := whole.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: rolling.Partition}
		}
		status := whole.Status
		status.Conditions = nil
		return &appsv1.StatefulSet{ObjectMeta: kept, Status: status, Spec: spec}
	case *appsv1.DaemonSet:
		keepTemplate(&kept, &whole.Spec.Template, isMade)
		spec := appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: whole.Spec.UpdateStrategy.Type}}
		status := whole.Status
		status.Conditions = nil
		return &appsv1.DaemonSet{ObjectMeta: kept, Status: status, Spec: spec}
	case *batchv1.Job:
		job := &batchv1.Job{ObjectMeta: kept}
		if end := Ended(whole); end.Type != "" {
			end.Reason, end.Message = bounded(end.Reason, longestWord), BoundedMessage(end.Message)
			job.Status.Conditions = []batchv1.JobCondition{end}
		}
		return job
	case *metav1.PartialObjectMetadata:
		kind := metav1.TypeMeta{Kind: shared(whole.Kind), APIVersion: shared(whole.APIVersion)}
		return &metav1.PartialObjectMetadata{TypeMeta: kind, ObjectMeta: kept}
	}
	return object
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

// NewList returns an empty list of objects of a kind, of the type that the informer cache has.
func NewList(kind schema.GroupVersionKind) client.ObjectList {
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
