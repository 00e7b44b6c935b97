//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// Scenario 2.

func TestTelemetryThatIsSentToACollectorComesOutOfItsExporter(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("detailed"))
	collector.Spec.Resources = nil // as most users leave them
	create(t, collector)
	awaitReady(t, collector)

	g := NewWithT(t)
	// A ready pod is in the Service a moment later.
	g.Eventually(func() error { return send(t.Context(), collector, "a-span-of-scenario-2") }).Should(Succeed())
	g.Expect(awaitPrinted(t, collector, "a-span-of-scenario-2")).To(ContainSubstring("5b8efff798038103d269b633813fc60c"))

	pod := podsOf(t, collector)[0]
	g.Expect(pod.Spec.Containers[0].ReadinessProbe).NotTo(BeNil(), "the configuration has a health check")
	g.Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero())
	g.Expect(pod.Status.QOSClass).To(Equal(corev1.PodQOSBurstable))
}
