//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 4.

func TestAConfigurationThatTheCollectorRefusesTakesNoPodDown(t *testing.T) {
	t.Parallel()
	for name, adapt := range map[string]func(config string) string{
		"with a health check": func(config string) string { return config },
		// Then a pod counts as ready from its start until the collector exits.
		"without one": func(config string) string { return strings.Replace(config, "extensions: [health_check]", "", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t, "restricted"), "gateway", adapt(printing("basic")))
			create(t, collector)
			awaitReady(t, collector)
			old := podsOf(t, collector)[0]

			refused := refusedByTheCollector()
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(adapt(refused)) })

			g := NewWithT(t)
			g.Eventually(func() string { return exits(t, collector, old) }).Should(Equal("exit 1, again and again"))
			g.Expect(podsOf(t, collector)).To(ContainElement(And(
				HaveField("UID", old.UID), HaveField("DeletionTimestamp", BeNil()), Satisfy(isReady))), "the old pod")
			g.Expect(waitsFor(t.Context(), collector)).To(HavePrefix("its pods"))
			// By turns CrashLoopBackOff and Error: the kubelet does not always say that it waits.
			awaitReadySays(t, collector, "False PodsNotReady", ", exit code 1")
			awaitPrinted(t, collector, "no_such_exporter")
			if name == "with a health check" {
				for i := range 20 {
					g.Expect(send(t.Context(), collector, fmt.Sprintf("span-%d", i))).To(Succeed())
				}
			}

			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(adapt(printing("detailed"))) })
			awaitReady(t, collector)
			awaitGone(t, &old)
			g.Eventually(func() error { return send(t.Context(), collector, "after-the-fix") }).Should(Succeed())
			awaitPrinted(t, collector, "after-the-fix")
		})
	}
}

// exits says how the pod of a Collector that is not the old one ends again and again, or nothing.
func exits(t *testing.T, collector *v1alpha1.Collector, old corev1.Pod) string {
	t.Helper()
	for _, pod := range podsOf(t, collector) {
		for _, status := range pod.Status.ContainerStatuses {
			if last := status.LastTerminationState.Terminated; pod.UID != old.UID && status.RestartCount > 1 && last != nil {
				return fmt.Sprintf("exit %d, again and again", last.ExitCode)
			}
		}
	}
	return ""
}
