package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestTheVersionInStatusAndEventsIsWhatRuns(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Name, collector.Spec.Collector.Version = "grafana/alloy", "v1.11.3"
	create(t, collector)
	g := NewWithT(t)
	said := func() string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Version }
	g.Expect(said()).To(Equal("v1.11.3"))
	g.Expect(events(t, collector)).To(HaveKey("Normal Installed: version v1.11.3, as revision 1"))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Tag: "nightly"} })
	g.Expect(said()).To(Equal("nightly"))
	g.Expect(events(t, collector)).To(HaveKey("Normal Upgraded: to revision 2, version v1.11.3 → nightly"))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Image.Digest = digest })
	g.Expect(said()).To(Equal(digest))
	g.Expect(events(t, collector)).To(HaveKey("Normal Upgraded: to revision 3, version nightly → " + digest))
}
