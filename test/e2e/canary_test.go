//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 24: some pods have to prove a change before the others get it.

const (
	// crashTime is within what time of the first crash the accepted revision serves again, and dataTime for data that canary pods lose.
	crashTime, dataTime = time.Minute, 5 * time.Minute

	// shortHold is for how long canary pods have to be ready in these tests.
	shortHold = 5 * time.Second

	// slowness is how long a pod takes to become ready that starts slowly.
	slowness = 15 * time.Second
)

// modes are those that a canary differs in.
var modes = []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeStatefulSet, v1alpha1.ModeDaemonSet}

// crashed has texts of which the condition Ready has one when a canary pod has crashed.
var crashed = []string{", exit code 1", "a container has restarted or failed"}

// lost is what the condition Ready has when data goes no further than canary pods.
const lost = "data flows worse through canary pods than through the others"

// crashing is a configuration that the collector finds valid. When it starts, it finds that it has no such address, and ends.
func crashing() string {
	return strings.NewReplacer(
		"receivers: {otlp:", `receivers: {otlp/nowhere: {protocols: {http: {endpoint: "192.0.2.1:4318"}}}, otlp:`,
		"receivers: [otlp]", "receivers: [otlp, otlp/nowhere]",
	).Replace(printing("basic"))
}

// withCanary creates a Collector with two pods, or one on each node, and waits until it is ready.
func withCanary(t *testing.T, mode v1alpha1.Mode, check *v1alpha1.Check) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Check, collector.Spec.Canary = check, &v1alpha1.Canary{Hold: shortHold.String()}
	twoPods(collector, mode)
	create(t, collector)
	awaitReady(t, collector)
	return collector
}

// twoPods gives a Collector a mode with two pods, or one on each node.
func twoPods(collector *v1alpha1.Collector, mode v1alpha1.Mode) {
	if collector.Spec.Mode = mode; mode != v1alpha1.ModeDaemonSet {
		collector.Spec.Replicas = new(int32(2))
	}
}

// withBackend creates a Collector that passes data on to another one, and sends it some until the test ends.
func withBackend(t *testing.T, mode v1alpha1.Mode) (backend, gateway *v1alpha1.Collector) {
	t.Helper()
	namespace := newNamespace(t, "restricted")
	backend = newCollector(namespace, "backend", printing("detailed"))
	create(t, backend)
	gateway = newCollector(namespace, "gateway", passingOn(serviceURL(t, backend)))
	gateway.Spec.Flow, gateway.Spec.Canary = &v1alpha1.Flow{}, &v1alpha1.Canary{}
	twoPods(gateway, mode)
	create(t, gateway)
	awaitReady(t, backend)
	awaitReady(t, gateway)
	keepSending(t, gateway, 100*time.Millisecond)
	return backend, gateway
}

// loseData has a Collector pass data on to an address where nothing listens.
func loseData(c *v1alpha1.Collector) {
	c.Spec.Collector.Configuration = []byte(passingOn("http://127.0.0.1:1"))
}

func TestACrashGoesBackAndASlowStartAndAnApprovedChangeAreDeployed(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			collector := withCanary(t, mode, &v1alpha1.Check{})
			seen := census(t, collector)
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(crashing()) })
			seen.awaitBack(t, crashTime, crashed...)

			seen = census(t, collector)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Configuration = []byte(printing("detailed"))
				c.Spec.ReadinessProbe = &corev1.Probe{
					ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(13133)}},
					InitialDelaySeconds: int32(slowness.Seconds()),
				}
			})
			awaitReadySays(t, collector, "False Proving", "are not ready, and have until")
			awaitReady(t, collector)
			seen.checkOrder(t)

			seen = census(t, collector)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Configuration, c.Spec.ReadinessProbe = []byte(printing("normal")), nil
				c.Spec.Canary.Approval = v1alpha1.CanaryManual
			})
			awaitReadySays(t, collector, "False Proving", "have proven the change, which waits until you promote it")
			NewWithT(t).Expect(seen.changed()).To(HaveLen(1), "pods that have the change")
			hash := get(t, collector, &v1alpha1.Collector{}).Status.Canary.Hash
			change(t, collector, func(c *v1alpha1.Collector) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PromoteAnnotation, hash)
			})
			awaitReady(t, collector)
		})
	}
}

func TestAChangeWhoseExporterIsDeadGoesBack(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			backend, gateway := withBackend(t, mode)
			seen := census(t, gateway)
			change(t, gateway, loseData)
			seen.awaitBack(t, dataTime, lost)
			NewWithT(t).Expect(send(t.Context(), gateway, "a-span-after-the-rollback")).To(Succeed())
			awaitPrinted(t, backend, "a-span-after-the-rollback")
		})
	}
}
