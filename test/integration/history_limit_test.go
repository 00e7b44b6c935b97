package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/history"
)

func TestTheHistoryKeepsWhatTheSpecSaysAndWhoChangedIt(t *testing.T) {
	t.Parallel()
	collector := install(t)
	second := configure(t, collector, "second: {}")
	third := configure(t, collector, "third: {}")
	becomeReady(t, collector)
	g := NewWithT(t)
	g.Expect(configurationsOf(t, collector)).To(ConsistOf(filesOf(config), second, third))
	release, err := helm.Unpack(record(t, collector).Data["release"])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(release.Info.Description).To(Equal(history.ChangedByPrefix + "integration.test (field manager)"))

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.RevisionHistoryLimit = new(int32(1)) })
	g.Eventually(func() []string { return configurationsOf(t, collector) }).Should(ConsistOf(third))
	configure(t, collector, "fourth: {}")
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(ConsistOf("4 deployed"))
}
