package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestSomebodyElseScalesACollector(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(3))
	create(t, collector)
	pods := func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }
	scale := func(replicas int32) {
		wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		deployment := get(t, collector, "", &appsv1.Deployment{})
		g.Expect(plane.client.SubResource("scale").Update(t.Context(), deployment, client.WithSubResourceBody(wanted))).To(Succeed())
	}

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	g.Expect(pods()).To(BeEquivalentTo(3), "the pods that it had")
	g.Expect(list(t, collector.Namespace, "autoscaling/v2", "HorizontalPodAutoscaler")).To(BeEmpty())

	scale(5)
	since := plane.audit.mark(t)
	touch(t, collector)
	g.Expect(pods()).To(BeEquivalentTo(5), "what somebody else has set")
	g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty())
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	g.Expect(pods()).To(BeEquivalentTo(5), "with another revision")
	g.Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring("restored to the release")))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = nil })
	g.Expect(pods()).To(BeEquivalentTo(3), "those of the spec, once nobody else scales")
}
