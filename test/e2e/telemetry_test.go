//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
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

// Scenario 21: the status says whether data flows, with the operator's own pace.

// told is within what time a condition has to be told.
const told = 3 * time.Minute

// passingOn is a configuration that sends on what it takes to a backend, and shows its metrics to others.
func passingOn(backend string) string {
	return strings.NewReplacer(
		"{debug: {verbosity: basic}}", `{otlp_http: {endpoint: "`+backend+`"}}`, "[debug]", "[otlp_http]",
		"\nservice:", "\nservice:\n  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 8888}}}}]}}",
	).Replace(printing("basic"))
}

func awaitFlow(t *testing.T, collector *v1alpha1.Collector, statusAndReason string) {
	t.Helper()
	began := time.Now()
	NewWithT(t).Eventually(func() string {
		return conditionOf(get(t, collector, &v1alpha1.Collector{}), v1alpha1.DataFlowing)
	}).WithTimeout(told).WithPolling(time.Second).Should(HavePrefix(statusAndReason), "DataFlowing of Collector %s", collector.Name)
	t.Logf("%s is told after %s", statusAndReason, time.Since(began).Round(time.Second))
}

func TestADeadBackendIsToldAndItsRecovery(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	backend := newCollector(namespace, "backend", printing("basic"))
	create(t, backend)
	gateway := newCollector(namespace, "gateway", passingOn(serviceURL(t, backend)))
	gateway.Spec.Flow = &v1alpha1.Flow{}
	gateway.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	create(t, gateway)
	awaitReady(t, backend)
	awaitReady(t, gateway)

	keepSending(t, gateway, time.Second)
	awaitFlow(t, gateway, "True Flowing")
	change(t, backend, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(0)) })
	NewWithT(t).Eventually(func() int { return len(podsOf(t, backend)) }).Should(BeZero())
	awaitFlow(t, gateway, "False ExportFails")
	if ready := readyOf(get(t, gateway, &v1alpha1.Collector{})); !strings.HasPrefix(ready, "True") {
		t.Errorf("the gateway itself is %s", ready)
	}
	change(t, backend, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(1)) })
	awaitReady(t, backend)
	awaitFlow(t, gateway, "True Flowing")
}

func TestPodsWithoutTrafficAndWithoutMetricsAreTold(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	idle := newCollector(namespace, "idle", passingOn("http://127.0.0.1:1"))
	idle.Spec.Flow = &v1alpha1.Flow{}
	hidden := newCollector(namespace, "hidden", printing("basic")) // it shows its metrics on localhost, as is the default
	hidden.Spec.Flow = &v1alpha1.Flow{}
	other := newCollector(namespace, "other", printing("basic"))
	other.Spec.Flow = &v1alpha1.Flow{Port: 13133, Path: "/"} // the health check, which answers JSON
	endless := newCollector(namespace, "endless", `sys.env("ANY")`)
	endless.Spec.Collector.Name, endless.Spec.Collector.Version = "docker.io/grafana/alloy", "v1.21.2"
	endless.Spec.Collector.Format, endless.Spec.Collector.FileName = v1alpha1.FormatRaw, "config.alloy"
	endless.Spec.Args = []string{"run", "--storage.path=/tmp/alloy", "--server.http.listen-addr=0.0.0.0:12345", "/etc/collector/config.alloy"}
	endless.Spec.Env = []corev1.EnvVar{{Name: "ANY", Value: "value"}}
	endless.Spec.Ports = map[string]v1alpha1.Port{"metrics": {Port: 12345}}
	endless.Spec.Flow = &v1alpha1.Flow{Path: "/endless"}
	all := map[*v1alpha1.Collector]string{
		idle: "Unknown NoTraffic", hidden: "Unknown Unreachable", other: "Unknown NoMetrics", endless: "Unknown NoMetrics",
	}
	for collector := range all {
		create(t, collector)
	}
	for collector := range all {
		awaitReady(t, collector)
	}
	for collector, statusAndReason := range all {
		awaitFlow(t, collector, statusAndReason)
	}
}
