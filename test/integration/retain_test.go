package integration

import (
	"slices"
	"testing"
	"time"

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

// The controller of the new StatefulSet gives an owner only to the claims of pods that are there.
func TestClaimsOfPodsThatWereScaledAwayGoWithTheNextStatefulSet(t *testing.T) {
	t.Parallel()
	createClass(t, "grows", true)
	retain := &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType}
	ofQueue := []string{"queue-gateway-0", "queue-gateway-1", "queue-gateway-2"}
	for name, row := range map[string]struct {
		before []string
		after  []v1alpha1.VolumeClaimTemplate
		policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
		want   []string // the claims that the new StatefulSet owns
	}{
		"another class":                            {before: []string{"queue=slow"}, after: templatesOf("queue=fast"), want: ofQueue},
		"a larger size":                            {before: []string{"queue=grows"}, after: queueOf("grows", "2Gi"), want: ofQueue},
		"claims of a template that goes stay":      {before: []string{"queue=slow", "spool=slow"}, after: templatesOf("queue=slow"), want: ofQueue},
		"all stay if the spec says so at the time": {before: []string{"queue=slow"}, after: templatesOf("queue=fast"), policy: retain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), newSet(t, row.before...)
			ownedBy := func(set *appsv1.StatefulSet) (names []string) {
				var claims corev1.PersistentVolumeClaimList
				g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
				for _, claim := range claims.Items {
					if metav1.IsControlledBy(&claim, set) {
						names = append(names, claim.Name)
					}
				}
				slices.Sort(names)
				return names
			}
			isReady := func(pods int) func() bool {
				return func() bool {
					_, _, ready := claimsAndPods(t, collector.Namespace)
					return len(ready) == pods && condition(t, collector, "Ready").Status == corev1.ConditionTrue
				}
			}
			g.Eventually(func() []string { return ownedBy(get(t, collector, "", &appsv1.StatefulSet{})) }).WithTimeout(time.Minute).
				Should(HaveLen(3 * len(row.before)))
			g.Eventually(isReady(3)).WithTimeout(time.Minute).Should(BeTrue())
			users := &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "queue-gateway-7", Labels: map[string]string{collectorLabel: "gateway"}},
				Spec:       templatesOf(row.before...)[0].Spec,
			}
			g.Expect(plane.client.Create(t.Context(), users)).To(Succeed())
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(1)) })
			g.Eventually(isReady(1)).WithTimeout(time.Minute).Should(BeTrue())

			before, revision := get(t, collector, "", &appsv1.StatefulSet{}), deployedRevision(t, collector)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.VolumeClaimTemplates, c.Spec.PersistentVolumeClaimRetentionPolicy = row.after, row.policy
			})
			g.Eventually(func() int { return deployedRevision(t, collector) }).WithTimeout(time.Minute).Should(BeNumerically(">", revision))
			after := get(t, collector, "", &appsv1.StatefulSet{})
			g.Expect(after.UID).NotTo(Equal(before.UID))
			g.Eventually(func() []string { return ownedBy(after) }).Should(Equal(row.want))
			g.Expect(ownedBy(before)).To(BeEmpty(), "claims of the StatefulSet that has gone")
		})
	}
}
