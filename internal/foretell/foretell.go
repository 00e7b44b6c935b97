// Package foretell tells a user what becomes of what a Collector has if its spec changes. It decides by the operator's own code, and asks
// the API server by reads and dry runs.
package foretell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/claims"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// Claims says what becomes of the claims that a Collector has if its spec changes, a sentence each. The error is what the operator would
// refuse the change with. Requests are those of the user of cluster. A request that the user has no right to becomes a sentence, too.
// Nothing is changed.
func Claims(ctx context.Context, cluster client.Client, before, after *unstructured.Unstructured) (says []string, err error) {
	was, is := &v1alpha1.Collector{}, &v1alpha1.Collector{}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if err := errors.Join(convert(before.Object, was), convert(after.Object, is)); err != nil {
		return nil, fmt.Errorf("read the Collector: %w", err)
	}
	said, failed := ofSet(ctx, cluster, was, is)
	deleted, unread := lost(ctx, cluster, was, is)
	said = append(said, deleted...)
	for _, err := range []error{failed, unread, shared(ctx, cluster, was, is)} {
		if isOfRights(err) {
			said = append(said, "what becomes of claims is not known: "+err.Error())
		} else if err != nil {
			return said, err
		}
	}
	return said, nil
}

// isOfRights tells whether the API server refused a request because the user has no right to it. A refusal by a policy or a quota is not of
// this kind.
func isOfRights(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}

// ofSet is Claims for the claims of a StatefulSet.
func ofSet(ctx context.Context, cluster client.Client, before, after *v1alpha1.Collector) (says []string, err error) {
	was, is := setOf(before), setOf(after)
	isSame := equality.Semantic.DeepEqual(was.Spec.VolumeClaimTemplates, is.Spec.VolumeClaimTemplates)
	if after.Spec.Mode != v1alpha1.ModeStatefulSet || isSame {
		return nil, nil
	}
	found := apply.Immutable{Live: &appsv1.StatefulSet{}, Wanted: is, Applied: was}
	var all corev1.PersistentVolumeClaimList
	var pods corev1.PodList
	inNamespace := client.InNamespace(before.Namespace)
	isThere, err := has(ctx, cluster, before, before.Name, found.Live)
	if err != nil {
		return nil, fmt.Errorf("read the StatefulSet: %w", err)
	}
	if !isThere {
		return nil, nil
	}
	err = cluster.List(ctx, &all, inNamespace)
	if err == nil {
		err = cluster.List(ctx, &pods, inNamespace, client.MatchingLabels{v1alpha1.CollectorLabel: before.Name})
	}
	if err != nil {
		return nil, fmt.Errorf("list the claims and the pods of the StatefulSet: %w", err)
	}
	var started []live.Pod
	for i := range pods.Items {
		cache.KeepPod(&pods.Items[i].ObjectMeta, &pods.Items[i])
		started = append(started, live.PodOf(&pods.Items[i]))
	}
	found.Claims = all.Items
	says, grow, err := claims.Foretell(found, live.OfSet(started))
	if err != nil {
		return nil, err
	}
	tries := apply.NewCluster(cluster, cluster, before)
	for _, growth := range grow {
		if err := tries.Grow(ctx, growth, true); err != nil {
			return says, fmt.Errorf("expand PersistentVolumeClaim %q for spec.volumeClaimTemplates: %w", growth.Claim, err)
		}
	}
	return says, nil
}

// setOf returns what a Collector's claim templates become, without defaults.
func setOf(collector *v1alpha1.Collector) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	if collector.Spec.UpdateStrategy != nil {
		set.Spec.UpdateStrategy.Type = appsv1.StatefulSetUpdateStrategyType(collector.Spec.UpdateStrategy.Type)
	}
	for _, template := range collector.Spec.VolumeClaimTemplates {
		metadata := metav1.ObjectMeta{Name: template.Metadata.Name, Labels: template.Metadata.Labels, Annotations: template.Metadata.Annotations}
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metadata, Spec: template.Spec}
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claim)
	}
	return set
}

// shared is Claims for the claims that all pods share. Each that changes is tried as the operator tries it.
func shared(ctx context.Context, cluster client.Client, before, after *v1alpha1.Collector) error {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return fmt.Errorf("write the Collector: %w", err)
	}
	applier := apply.Applier{
		Cluster: apply.NewCluster(cluster, cluster, before), Collector: &unstructured.Unstructured{Object: whole}, Together: apply.Concurrently,
	}
	applier.Collector.SetUID(before.UID)
	var failed []error
	for _, wanted := range after.Spec.VolumeClaims {
		isSame := func(template v1alpha1.VolumeClaimTemplate) bool { return equality.Semantic.DeepEqual(template, wanted) }
		if slices.ContainsFunc(before.Spec.VolumeClaims, isSame) {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		claim.Namespace, claim.Name = before.Namespace, before.Name+"-"+wanted.Metadata.Name
		what := live.NewReference(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), claim.Name)
		isThere, err := has(ctx, cluster, before, claim.Name, claim)
		if err != nil {
			return fmt.Errorf("read %s: %w", what, err)
		}
		if !isThere {
			continue
		}
		spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted.Spec)
		if err != nil {
			return fmt.Errorf("write %s: %w", what, err)
		}
		content := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		content.SetGroupVersionKind(what.Kind())
		content.SetNamespace(claim.Namespace)
		content.SetName(claim.Name)
		step := apply.Step{Action: apply.Try, Ref: what, UID: claim.UID, Object: &render.Object{Ref: what, Content: content}}
		failed = append(failed, applier.Do(ctx, [][]apply.Step{{step}}))
	}
	return errors.Join(failed...)
}
