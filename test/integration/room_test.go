package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A Service keeps its load balancer's class for ever, and the refusal says so. A user who deletes the Service wants it with the new class,
// and not as it was.
func TestAUserMakesRoomForAChangeThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	service := func(class string) func(*v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			c.Spec.Service = &v1alpha1.Service{Type: "LoadBalancer", LoadBalancerClass: class}
			c.Spec.Ports = map[string]v1alpha1.Port{"otlp": {Port: 4317}}
		}
	}
	collector := install(t, service("acme.example/one"))
	change(t, collector, service("acme.example/other"))
	awaitReady(t, collector, "False", "ReleaseFailed", "loadBalancerClass")

	before := get(t, collector, "", &corev1.Service{})
	g.Expect(plane.client.Delete(t.Context(), before)).To(Succeed())
	g.Eventually(func(g Gomega) {
		found := &corev1.Service{} // it is gone for a moment
		g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(before), found)).To(Succeed())
		g.Expect(found.UID).NotTo(Equal(before.UID))
		g.Expect(found.Spec.LoadBalancerClass).To(HaveValue(Equal("acme.example/other")))
	}).WithTimeout(20 * time.Second).Should(Succeed())
	awaitRevision(t, collector, 2)
}
