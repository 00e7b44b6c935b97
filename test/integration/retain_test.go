package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The live StatefulSet has the policy of before, because nothing of a paused Collector is applied. Its controller also never changes the
// claims of pods that were scaled away.
func TestClaimsStayIfTheSpecSaysSoWhenItsCollectorIsDeleted(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), newSet(t, "queue=slow")
	owned := func(isOwned bool) func() int {
		return func() (count int) {
			var claims corev1.PersistentVolumeClaimList
			g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
			for _, claim := range claims.Items {
				if claim.DeletionTimestamp == nil && len(claim.OwnerReferences) > 0 == isOwned {
					count++
				}
			}
			return count
		}
	}
	g.Eventually(owned(true)).Should(Equal(3), "claims go with their StatefulSet by default")
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, "true")
		c.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	})
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{}))
	}).Should(BeTrue())
	g.Expect(owned(false)()).To(Equal(3))
}
