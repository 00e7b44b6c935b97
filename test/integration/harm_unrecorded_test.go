package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The tests in this file stop the shared operator, and so are not parallel. A quota of Secrets refuses the record of a change.

const notRecorded = "the change is applied, but not recorded"

func TestAChangeThatIsNotRecordedStaysWhenTheNextOperatorStarts(t *testing.T) {
	upgraded := func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" }
	refused := func(t *testing.T, collector *v1alpha1.Collector) {
		t.Helper()
		reconfigure(t, collector, "- refused")
		awaitFailed(t, collector, "not a YAML mapping")
	}
	for name, happens := range map[string]func(t *testing.T, collector *v1alpha1.Collector){
		"while nothing can be rendered": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			change(t, collector, upgraded)
			awaitFailed(t, collector, notRecorded)
			refused(t, collector)
		},
		"while another configuration is refused": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			change(t, collector, upgraded)
			awaitFailed(t, collector, notRecorded)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Configuration = []byte("other: {}")
				c.Spec.Collector.Version = "0.152.0"
				c.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5500}}
			})
			awaitFailed(t, collector, "apply Secret")
		},
		"although an operator has applied it that had just started": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			nextOperator(t, collector, func() { change(t, collector, upgraded) })
			awaitFailed(t, collector, notRecorded)
			refused(t, collector)
		},
		"although two operators have tried to record it": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(2)) })
			awaitFailed(t, collector, notRecorded)
			nextOperator(t, collector, func() {})
			change(t, collector, upgraded)
			awaitFailed(t, collector, notRecorded)
			refused(t, collector)
		},
	} {
		t.Run(name, func(t *testing.T) {
			collector := install(t)
			versions := versionsOf(t, collector)
			limit := quota(t, collector.Namespace, "count/secrets")
			happens(t, collector)
			nextOperator(t, collector, func() {})
			g := NewWithT(t)
			g.Consistently(versions, 3*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}))
			g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
			reconfigure(t, collector, "third: {}")
			awaitRevision(t, collector, 2)
			g.Expect(versions()[1:]).NotTo(ContainElement("0.150.0"))
		})
	}
}

// refusedUnrecorded brings a Collector to where a revision serves that is not recorded, and the next one is refused.
func refusedUnrecorded(t *testing.T, collector *v1alpha1.Collector) (versions func() []string) {
	t.Helper()
	versions = versionsOf(t, collector)
	quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, notRecorded)
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	return versions
}

func TestAChangeThatIsNotRecordedStaysIfWhatGoesIsNotInUse(t *testing.T) {
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.VolumeClaims = queueOf("any", "1Gi")
	create(t, collector)
	configure(t, collector, "second: {}")
	versions := refusedUnrecorded(t, collector)
	claim := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	g := NewWithT(t)
	hold(t, claim) // as Kubernetes does while pods use it
	g.Expect(plane.client.Delete(t.Context(), claim)).To(Succeed())
	nextOperator(t, collector, func() {})
	g.Consistently(versions, 2*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}), "a claim is being deleted")
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, filesOf(config), &corev1.Secret{}))).To(Succeed())
	g.Consistently(versions, 2*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}), "the Secret of an earlier configuration is deleted")
}

func TestGoingBackToWhatIsRecordedIsAChangeLikeAnyOther(t *testing.T) {
	collector := install(t)
	spec, ports := collector.Spec, func() int { return len(get(t, collector, "", &corev1.Service{}).Spec.Ports) }
	before := ports()
	quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Version, c.Spec.Ports = "0.151.0", map[string]v1alpha1.Port{"syslog": {Port: 5500}}
	})
	awaitFailed(t, collector, notRecorded)
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	nextOperator(t, collector, func() {})
	allow := refuse(t, collector, admissionv1.Update)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec = spec })
	awaitFailed(t, collector, "not in this test")
	g := NewWithT(t)
	g.Expect(ports()).To(Equal(before+1), "a dry run refuses it before the Service is changed")
	nextOperator(t, collector, func() {})
	g.Consistently(func() corev1.ConditionStatus { return condition(t, collector, "Ready").Status }, time.Second).ShouldNot(Equal(corev1.ConditionTrue))
	allow()
	touch(t, collector)
	g.Eventually(versionsOf(t, collector)).Should(ContainElement("0.150.0"))
	g.Eventually(ports).Should(Equal(before))
}
