package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// In this file a webhook refuses an Ingress, but no dry run of it. So the refusal comes after all else of the change was applied.

func TestWhatAChangeHasCreatedBeforeItsLateRefusalGoes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		edit func(spec *v1alpha1.CollectorSpec)
		goes string
	}{
		"a NetworkPolicy, which keeps traffic from the pods that serve": {
			func(spec *v1alpha1.CollectorSpec) { spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true} }, "NetworkPolicy/gateway",
		},
		"a HorizontalPodAutoscaler, which scales them": {
			func(spec *v1alpha1.CollectorSpec) {
				spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(2))}
			}, "HorizontalPodAutoscaler/gateway",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(5)) })
			serve(t, collector, 5)
			refuseIngresses(t, collector)
			since, requests := shared.log.mark(), plane.audit.mark(t)
			change(t, collector, func(c *v1alpha1.Collector) {
				row.edit(&c.Spec)
				c.Spec.Ingress = anIngress()
			})
			awaitFailed(t, collector, "not by me")
			awaitFailures(t, since, collector, 2)
			g := NewWithT(t)
			g.Eventually(func() []string { return names(contents(t, collector.Namespace)) }).ShouldNot(ContainElement(row.goes))
			g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(ContainElement(HavePrefix("delete ")), "it was there")
		})
	}
}

func TestAChangeThatIsRefusedLateRollsPodsOnce(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	versions := versionsOf(t, collector)
	refuseIngresses(t, collector)
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version, c.Spec.Ingress = "0.151.0", anIngress() })
	awaitFailures(t, since, collector, 5)
	NewWithT(t).Expect(versions()).To(Equal([]string{"0.150.0", "0.151.0", "0.150.0"}))
	awaitFailed(t, collector, "not by me")
}
