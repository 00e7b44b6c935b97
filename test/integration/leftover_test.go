package integration

import (
	"fmt"
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

	// More than Helm keeps, which the API server refuses at their last object, the Deployment. The first of them has a
	// NetworkPolicy. All of them annotate the Service. A dry run keeps all of that from being done.
	for i := range 12 {
		since := shared.log.mark()
		change(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.NodeSelector = map[string]string{"Not A Name": ""}
			c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: i == 0}
			c.Spec.Service = &v1alpha1.Service{Annotations: map[string]string{"example.com/left": fmt.Sprintf("behind by %d", i)}}
		})
		awaitFailures(t, since, collector, 1)
	}
	g := NewWithT(t)
	g.Expect(names(contents(t, collector.Namespace))).NotTo(ContainElement("NetworkPolicy/gateway"))
	g.Expect(get(t, collector, "", &corev1.Service{}).Annotations).NotTo(HaveKey("example.com/left"))

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec = twin.Spec })
	g.Eventually(func() string { return gocmp.Diff(want, likeness(t, collector)) }).Should(BeEmpty())
	g.Eventually(func() string { return unreleased(t, collector) }).Should(BeEmpty())
}
