package integration

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestWhatFailedUpgradesLeftBehindIsRemoved(t *testing.T) {
	t.Parallel()
	collector := install(t)
	twin := newCollector(newNamespace(t), collector.Name)
	want := likeness(t, collector)

	// Two that the API server refuses at their last object, the Deployment. The first of them creates a NetworkPolicy,
	// the second annotates the Service.
	for _, spoil := range []func(*v1alpha1.Collector){
		func(c *v1alpha1.Collector) {
			c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
			c.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Name: "Not A Name", Create: new(false)}
		},
		func(c *v1alpha1.Collector) {
			c.Spec.NetworkPolicy = nil
			c.Spec.Service = &v1alpha1.Service{Annotations: map[string]string{"example.com/left": "behind"}}
		},
	} {
		since := shared.log.mark()
		change(t, collector, spoil)
		awaitFailures(t, since, collector, 1)
	}
	g := NewWithT(t)
	g.Expect(names(contents(t, collector.Namespace))).To(ContainElement("NetworkPolicy/gateway"))
	g.Expect(get(t, collector, "", &corev1.Service{}).Annotations).To(HaveKey("example.com/left"))

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec = twin.Spec })
	g.Eventually(func() string { return unreleased(t, collector) }).Should(BeEmpty())
	g.Expect(gocmp.Diff(want, likeness(t, collector))).To(BeEmpty())
}
