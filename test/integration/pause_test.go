package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pause has a Collector left alone, and waits until the operator knows.
func pause(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, "true")
	})
	awaitPaused(t, collector, corev1.ConditionTrue)
	NewWithT(t).Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(ContainSubstring(" Paused: ")))
}

func awaitPaused(t *testing.T, collector *v1alpha1.Collector, want corev1.ConditionStatus) {
	t.Helper()
	NewWithT(t).Eventually(func() corev1.ConditionStatus { return condition(t, collector, "Paused").Status }).Should(Equal(want))
}

func resume(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	change(t, collector, func(c *v1alpha1.Collector) { delete(c.Annotations, v1alpha1.PausedAnnotation) })
	awaitPaused(t, collector, corev1.ConditionFalse)
}

func TestAPausedCollectorIsLeftAlone(t *testing.T) {
	t.Parallel()
	collector := install(t)
	want := shape(t, collector)
	pause(t, collector)

	requests := plane.audit.mark(t)
	changed := []byte("changed: " + secret)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = changed })
	if err := tamper(t, collector); err != nil {
		t.Fatal(err)
	}
	if err := plane.client.Delete(t.Context(), get(t, collector, "", &corev1.Service{})); err != nil {
		t.Fatal(err)
	}
	touch(t, collector)

	g := NewWithT(t)
	g.Expect(plane.audit.writes(t, requests, collector.Namespace)).NotTo(ContainElement(Not(ContainSubstring(" collectors/status "))))
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	g.Expect(get(t, collector, filesOf(config), &corev1.Secret{}).Data).To(Equal(map[string][]byte{"config.yaml": []byte("edited: " + secret)}))
	g.Expect(names(shape(t, collector))).NotTo(ContainElement("Service/gateway"))

	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Configuration = newCollector("", "").Spec.Collector.Configuration
	})
	resume(t, collector)
	awaitContents(t, collector, want) // the drift is repaired
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
}

func TestAResumedCollectorFollowsItsSpec(t *testing.T) {
	t.Parallel()
	collector := install(t)
	pause(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(3)) })
	touch(t, collector)
	g := NewWithT(t)
	g.Expect(deployedRevision(t, collector)).To(Equal(1))

	resume(t, collector)
	awaitRecovery(t, collector, 2)
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(Equal(new(int32(3))))
}

func TestACollectorThatIsCreatedPausedIsInstalledOnceItIsResumed(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitPaused(t, collector, corev1.ConditionTrue)
	touch(t, collector)
	NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(ConsistOf("Collector/gateway"))

	resume(t, collector)
	awaitRecovery(t, collector, 1)
}

func TestAPausedCollectorCanBeDeleted(t *testing.T) {
	t.Parallel()
	for name, deployed := range map[string]bool{"with what it became": true, "before it became anything": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			if deployed {
				create(t, collector)
				pause(t, collector)
			} else {
				collector.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
				if err := plane.client.Create(t.Context(), collector); err != nil {
					t.Fatal(err)
				}
				awaitPaused(t, collector, corev1.ConditionTrue)
			}
			remove(t, collector)
			NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
		})
	}
}

func TestAnAnnotationThatSaysNeitherYesNorNoPausesNothing(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	told := func() []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(events(t, collector))), func(event string) bool {
			return !strings.Contains(event, " AnnotationInvalid: ")
		})
	}
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Annotations = map[string]string{v1alpha1.PausedAnnotation: "tomorrow"}
		c.Spec.Replicas = new(int32(3))
	})
	const tomorrow = `metadata.annotations[kube8.dev/paused] is "tomorrow", which pauses nothing; set it to "true" or "false", or remove it`
	g.Eventually(func() v1alpha1.Condition { return condition(t, collector, "Paused") }).Should(And(
		HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "AnnotationInvalid"), HaveField("Message", tomorrow)))
	g.Eventually(told).Should(ConsistOf("Warning AnnotationInvalid: " + tomorrow))
	touch(t, collector) // the same value is no news
	change(t, collector, func(c *v1alpha1.Collector) { c.Annotations[v1alpha1.PausedAnnotation] = "yes" })
	g.Eventually(told).Should(ConsistOf(ContainSubstring(`is "tomorrow",`), ContainSubstring(`is "yes",`)))
	g.Expect(events(t, collector)).To(HaveKeyWithValue("Warning AnnotationInvalid: "+tomorrow, 1))

	change(t, collector, func(c *v1alpha1.Collector) { c.Annotations[v1alpha1.PausedAnnotation] = "true" })
	awaitPaused(t, collector, corev1.ConditionTrue)
	resume(t, collector)
	g.Expect(condition(t, collector, "Paused").Message).To(BeEmpty())
}
