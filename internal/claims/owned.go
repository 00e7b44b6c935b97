package claims

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
)

// owned returns the claims that a StatefulSet owns, and the one with the next templates is to own. Claims of a template that goes stay, and
// all do if the spec says so. A claim without an owner may be a user's.
func owned(found apply.Immutable, next []corev1.PersistentVolumeClaim) (owned []types.UID) {
	policy := found.Wanted.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return nil
	}
	for i := range found.Claims {
		claim := &found.Claims[i]
		isOfSet := func(owner metav1.OwnerReference) bool { return owner.UID == found.Live.UID }
		isOfNext := func(template corev1.PersistentVolumeClaim) bool { return isOf(claim, template.Name, found.Live.Name) }
		if slices.ContainsFunc(claim.OwnerReferences, isOfSet) && slices.ContainsFunc(next, isOfNext) {
			owned = append(owned, claim.UID)
		}
	}
	return owned
}
