package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// HasVolume tells whether a claim has a volume, or had one. No pod that mounts a claim without one has ever started.
func HasVolume(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" || claim.Status.Phase == corev1.ClaimBound || claim.Status.Phase == corev1.ClaimLost
}

// IsOfTemplate tells whether a claim has a name as a StatefulSet gives it for one of its templates.
func IsOfTemplate(claim, template, set string) bool {
	is, err := regexp.MatchString("^"+regexp.QuoteMeta(template+"-"+set)+"-[0-9]+$", claim)
	return is && err == nil
}

// discard deletes the claims of a StatefulSet's templates that have no volume, before the StatefulSet takes pods over: its controller makes
// them anew by the present templates. Claims of others stay, and a claim that gets a volume meanwhile stays, too.
func (a *Applier) discard(ctx context.Context, s Step) {
	templates, _, _ := unstructured.NestedSlice(s.Object.Content.Object, "spec", "volumeClaimTemplates")
	if len(templates) == 0 {
		return
	}
	claims, err := a.Cluster.Claims(ctx)
	for i := range claims {
		claim := &claims[i]
		if HasVolume(claim) || claim.Labels[v1alpha1.CollectorLabel] != s.Ref.Name() {
			continue
		}
		for _, template := range templates {
			fields, _ := template.(map[string]any)
			name, _, _ := unstructured.NestedString(fields, "metadata", "name")
			if err == nil && IsOfTemplate(claim.Name, name, s.Ref.Name()) {
				err = a.Cluster.Discard(ctx, Growth{Claim: claim.Name, UID: claim.UID, Version: claim.ResourceVersion})
			}
		}
	}
	if err != nil { // the pods are taken over all the same
		log.FromContext(ctx).Info("could not delete the claims without a volume", "of", s.Ref.String(), "because", err.Error())
	}
}

// retains tells whether the claims of an object that is deleted stay: the spec says so, or the policy of the StatefulSet, which the spec of
// another mode does not have. That StatefulSet can still own the claims of pods that were scaled away before it had the policy.
func (a *Applier) retains(ctx context.Context, s Step) (bool, error) {
	if s.Retains || s.Ref.Kind().Kind != "StatefulSet" {
		return s.Retains, nil
	}
	found, err := a.Cluster.Read(ctx, s.Ref)
	if err != nil || found == nil {
		return false, err
	}
	policy, _, _ := unstructured.NestedString(found.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return policy == string(appsv1.RetainPersistentVolumeClaimRetentionPolicyType), nil
}

// give makes a StatefulSet the owner of the claims that the one before owned. The garbage collector takes the owner from all claims of a
// StatefulSet that is deleted without its pods. The controller of the next one gives only claims of pods that are there an owner again
// (k8s.io/kubernetes, pkg/controller/statefulset/stateful_set_control.go). Claims of other pods would outlive the Collector.
//
// The list is lost if the operator is killed after the deletion, or does not see the end of it in time. Such claims stay, because nothing
// tells them from a user's then.
func (a *Applier) give(ctx context.Context, s Step, set types.UID) {
	if len(s.Old.Owned) == 0 || set == "" {
		return
	}
	version, kind := s.Ref.Kind().ToAPIVersionAndKind()
	// It has no blockOwnerDeletion: with it, an API server may ask for rights on statefulsets/finalizers.
	owner := metav1.OwnerReference{APIVersion: version, Kind: kind, Name: s.Ref.Name(), UID: set, Controller: new(true)}
	var failed error
	for range 3 { // the StatefulSet's controller gives claims the same owner meanwhile
		claims, err := a.Cluster.Claims(ctx)
		failed = err
		for i := range claims {
			claim := &claims[i]
			if metav1.GetControllerOfNoCopy(claim) != nil || !slices.Contains(s.Old.Owned, claim.UID) {
				continue
			}
			what, part := claimNamed(claim.Name), &unstructured.Unstructured{Object: map[string]any{}}
			part.SetGroupVersionKind(what.Kind())
			part.SetName(claim.Name)
			part.SetOwnerReferences([]metav1.OwnerReference{owner})
			_, err := a.Cluster.Apply(ctx, Request{
				Ref: what, Content: part, UID: claim.UID, Version: claim.ResourceVersion, Manager: managedfields.Adopter,
			})
			failed = cmp.Or(failed, err)
		}
		if !apierrors.IsConflict(failed) {
			break
		}
	}
	if failed != nil { // the pods are taken over all the same
		log.FromContext(ctx).Info("could not have claims go with their StatefulSet", "of", s.Ref.String(), "because", failed.Error())
	}
}

// Retain changes the policy of the StatefulSet, because the spec's may not be applied. Then it takes the StatefulSet from the owners of
// each claim: the StatefulSet's controller may not have done so yet, and never does it for claims whose pods were scaled away
// (k8s.io/kubernetes, pkg/controller/statefulset/stateful_set_control.go).
func (c cluster) Retain(ctx context.Context, set live.Reference, uid types.UID) error {
	policy := map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Retain"}}
	err := c.merge(ctx, set, map[string]any{"metadata": map[string]any{"uid": uid}, "spec": policy})
	if apierrors.IsNotFound(err) && !isOfWebhook(err) || isOtherUID(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return err
	}
	claims, err := c.Claims(ctx)
	for i := range claims {
		claim := &claims[i]
		isOfSet := func(owner metav1.OwnerReference) bool { return owner.UID == uid }
		if err != nil || !slices.ContainsFunc(claim.OwnerReferences, isOfSet) {
			continue
		}
		err = client.IgnoreNotFound(c.merge(ctx, claimNamed(claim.Name), map[string]any{"metadata": map[string]any{
			"uid": claim.UID, "resourceVersion": claim.ResourceVersion, "ownerReferences": slices.DeleteFunc(claim.OwnerReferences, isOfSet),
		}}))
	}
	return err
}

// claimNamed returns the reference of a claim.
func claimNamed(name string) live.Reference {
	return live.NewReference(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), name)
}

// merge merges fields into an object, or tries that.
func (c cluster) merge(ctx context.Context, what live.Reference, fields map[string]any, options ...client.PatchOption) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it is about
	}
	options = append(options, client.FieldOwner(managedfields.Manager))
	return c.writer.Patch(ctx, c.named(what), client.RawPatch(types.MergePatchType, text), options...) //nolint:wrapcheck // as above
}
