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

// The StatefulSet has owned them by default. Its controller gives up the claims of pods only.
func TestClaimsOfPodsThatWereScaledAwayStayWhenTheModeChanges(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), newSet(t, "queue=slow")
	owned := func() (names []string) {
		var claims corev1.PersistentVolumeClaimList
		g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
		for _, claim := range claims.Items {
			if len(claim.OwnerReferences) > 0 {
				names = append(names, claim.Name)
			}
		}
		return names
	}
	g.Eventually(owned).Should(HaveLen(3))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(1)) })
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: collector.Name + "-1"}, &corev1.Pod{})
	}).Should(Satisfy(apierrors.IsNotFound))
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	})
	g.Eventually(owned).Should(HaveLen(2), "that of the pod is free")
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Mode, c.Spec.VolumeClaimTemplates, c.Spec.PersistentVolumeClaimRetentionPolicy = v1alpha1.ModeDeployment, nil, nil
	})
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(Succeed())
	serve(t, collector, 1)
	g.Eventually(owned).Should(BeEmpty())
	var claims corev1.PersistentVolumeClaimList
	g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
	g.Expect(claims.Items).To(HaveLen(3))
}
