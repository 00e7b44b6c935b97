package foretell

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// lost is Claims for claims that nothing mounts any more: those of a StatefulSet that goes, and those that all pods shared.
func lost(ctx context.Context, cluster client.Client, before, after *v1alpha1.Collector) (says []string, err error) {
	if before.Spec.Mode == v1alpha1.ModeStatefulSet && after.Spec.Mode != v1alpha1.ModeStatefulSet {
		set := &appsv1.StatefulSet{}
		isThere, err := has(ctx, cluster, before, before.Name, set)
		if err != nil {
			return nil, fmt.Errorf("read the StatefulSet: %w", err)
		}
		becomes := "stay, and no pod mounts them"
		policy := set.Spec.PersistentVolumeClaimRetentionPolicy
		if policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			becomes = "are deleted, with their data"
		}
		for i := range set.Spec.VolumeClaimTemplates {
			if isThere {
				says = append(says, fmt.Sprintf("claims of %s %s", set.Spec.VolumeClaimTemplates[i].Name, becomes))
			}
		}
	}
	for _, template := range before.Spec.VolumeClaims {
		name, claim := template.Metadata.Name, before.Name+"-"+template.Metadata.Name
		if slices.ContainsFunc(after.Spec.VolumeClaims, func(one v1alpha1.VolumeClaimTemplate) bool { return one.Metadata.Name == name }) {
			continue
		}
		isThere, err := has(ctx, cluster, before, claim, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return says, fmt.Errorf("read PersistentVolumeClaim %q: %w", claim, err)
		}
		if isThere {
			says = append(says, fmt.Sprintf("PersistentVolumeClaim %q is deleted, with its data", claim))
		}
	}
	return says, nil
}

// has reads an object, and tells whether it is there and a Collector controls it.
func has(ctx context.Context, cluster client.Client, of *v1alpha1.Collector, name string, object client.Object) (bool, error) {
	err := cluster.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: name}, object)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return metav1.IsControlledBy(object, of), nil
}
