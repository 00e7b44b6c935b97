package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// No claim can shrink again.
func TestNoClaimOfATemplateGrowsBeforeTheChangeIsProven(t *testing.T) {
	t.Parallel()
	createClass(t, "grows", true)
	for name, isGood := range map[string]bool{"a change that crashes": false, "a change that is proven": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), install(t, func(c *v1alpha1.Collector) {
				c.Spec.Mode, c.Spec.Replicas, c.Spec.Canary = v1alpha1.ModeStatefulSet, new(int32(3)), &v1alpha1.Canary{Hold: "1s"}
				c.Spec.VolumeClaimTemplates = queueOf("grows", "1Gi")
			})
			for range 3 {
				tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(24*time.Hour))
			}
			for _, name := range []string{"queue-gateway-0", "queue-gateway-1", "queue-gateway-2"} {
				claim := &corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: name, Labels: map[string]string{collectorLabel: "gateway"}},
					Spec:       collector.Spec.VolumeClaimTemplates[0].Spec,
				}
				g.Expect(plane.client.Create(t.Context(), claim)).To(Succeed())
				bind(t, claim)
			}
			sizes := func() (found []string) {
				var claims corev1.PersistentVolumeClaimList
				g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
				for _, claim := range claims.Items {
					found = append(found, claim.Spec.Resources.Requests.Storage().String())
				}
				return found
			}
			serveThree(t, collector)
			awaitReady(t, collector, "True", "Available", "3/3")
			orphanPods(t.Context(), t, collector)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Version, c.Spec.VolumeClaimTemplates = "0.151.0", queueOf("grows", "2Gi")
			})
			awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
			g.Expect(sizes()).To(HaveEach("1Gi"), "nothing is proven yet")
			pod := startPod(t, collector, templateOf(t, collector))
			if isGood {
				tell(t, pod, readyFor(time.Hour))
				awaitRevision(t, collector, 2)
				g.Expect(sizes()).To(HaveEach("2Gi"))
				return
			}
			tell(t, pod, crashes)
			awaitReady(t, collector, "False", "RolledBack", "CrashLoopBackOff")
			g.Expect(plane.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed()) // its status has the known word
			g.Expect(sizes()).To(HaveEach("1Gi"))
			g.Expect(get(t, collector, "", &appsv1.StatefulSet{}).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("1Gi"))
		})
	}
}
