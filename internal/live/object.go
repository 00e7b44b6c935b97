package live

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Object is what is known of one object, without its content.
type Object struct {
	UID        types.UID
	Version    string // its resource version
	Created    time.Time
	Deleting   bool
	Finalizers []string

	Hash         string // of what the operator last applied; empty if it has applied nothing
	Digest       string // of what the operator has applied and no other client has changed since; empty if it has applied nothing
	OwnsReplicas bool   // the operator owns spec.replicas
	CoOwned      bool   // another field manager owns fields that the operator has applied, too
	Editor       string // who else has last written

	Checked    string               // the Job that has accepted it
	Ended      batchv1.JobCondition // how a Job has ended; empty while it runs
	References string               // which versions of what they refer to a workload's pods have
	Uses       string               // what a workload's pods use, as hashes of kind and name
	Claims     string               // the names of a StatefulSet's claim templates; only the informer cache has them
	Replicas   int32                // how many pods a workload is to have
	Uncounted  bool                 // that is not known yet: the controller of a new DaemonSet has not counted nodes
	Revision   string               // the revision of a StatefulSet that its next pods have
	Partition  int32                // but those with lower ordinals have an earlier one; 0 if none is there
	Available  int32                // how many of its pods are available
	All        int32                // how many pods a workload has made
	Refusal    string               // why a Deployment's pods cannot be made
	Serves     bool                 // all pods of a workload are as its last change wants them, and at least one is there
}

// IsWorkload tells whether objects of a kind run the pods that serve.
func IsWorkload(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet"
}

// Running returns which versions of what they refer to the pods of a Collector's workload have. While another workload takes its place, it
// is the newest one.
func Running(objects map[Reference]Object) string {
	var newest Object
	for _, object := range objects {
		isNewer := object.Created.After(newest.Created) || object.Created.Equal(newest.Created) && object.UID > newest.UID
		if object.References != "" && (newest.References == "" || isNewer) {
			newest = object
		}
	}
	return newest.References
}

// Of returns what is known of an object, as the API server or as the informer cache has it.
func Of(object client.Object) Object {
	kept, fields := object.GetAnnotations(), cache.FieldsOf(object)
	o := Object{
		UID: object.GetUID(), Version: object.GetResourceVersion(), Created: object.GetCreationTimestamp().Time,
		Deleting: object.GetDeletionTimestamp() != nil, Finalizers: object.GetFinalizers(),
		Hash: fields.Hash, Digest: fields.Digest, OwnsReplicas: fields.Replicas, CoOwned: fields.CoOwned, Editor: fields.Editor,
		Checked: kept[v1alpha1.CheckedAnnotation], Ended: cache.Ended(object), References: kept[postrender.ReferencesAnnotation],
		Uses: kept[cache.UsesAnnotation], Claims: kept[cache.ClaimsAnnotation],
	}
	pods := PodsOf(object)
	o.Available, o.All = pods.Available, pods.All
	if set, isSet := object.(*appsv1.StatefulSet); isSet {
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		o.Revision = set.Status.UpdateRevision
		if rolling != nil && set.Status.CurrentRevision != set.Status.UpdateRevision {
			o.Partition = ptr.Deref(rolling.Partition, 0)
		}
	}
	if deployment, is := object.(*appsv1.Deployment); is {
		o.Refusal = RefusalOf(deployment)
	}
	if set, isSet := object.(*appsv1.DaemonSet); isSet {
		o.Uncounted = set.Status.ObservedGeneration == 0
	}
	o.Replicas, o.Serves = pods.Wanted, !pods.Behind && pods.Wanted > 0 && pods.Updated >= pods.Wanted && pods.Available >= pods.Wanted
	return o
}

// RefusalOf returns why a Deployment's pods cannot be made, or nothing.
func RefusalOf(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

// Pods is what a workload says of its pods.
type Pods struct {
	Behind                                 bool  // no controller has worked on its last change yet
	Wanted, Updated, Available, All, Ready int32 // how many pods
}

// PodsOf returns what an object says of its pods. Another object than a workload has none. Pods that are to stay old until a user
// deletes them or moves the partition count as updated: no change waits for them.
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
