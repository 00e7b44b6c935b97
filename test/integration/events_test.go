package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// events returns the events about a Collector, and how often each was told.
func events(t *testing.T, collector *v1alpha1.Collector) map[string]int {
	t.Helper()
	var list corev1.EventList
	if err := plane.client.List(t.Context(), &list, client.InNamespace(collector.Namespace)); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, event := range list.Items {
		if event.InvolvedObject.Kind == "Collector" && event.InvolvedObject.Name == collector.Name {
			found[event.Type+" "+event.Reason+": "+event.Message] += int(event.Count)
		}
	}
	return found
}

func TestEachThingThatHappensToACollectorIsToldOnce(t *testing.T) {
	t.Parallel()
	collector := install(t)
	want := map[string]int{}
	expect := func(told string) {
		t.Helper()
		want[told] = 1
		NewWithT(t).Eventually(func() map[string]int { return events(t, collector) }).Should(Equal(want))
	}
	expect("Normal Installed: version 0.150.0, as revision 1")

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	expect("Normal Upgraded: to revision 2, version 0.150.0 → 0.151.0")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("changed: " + secret) })
	expect("Normal Upgraded: to revision 3, configuration changed")
	touch(t, collector) // no news

	service := get(t, collector, "", &corev1.Service{})
	service.Spec.Selector[collectorLabel] = "somebody-else"
	if err := plane.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	expect("Normal DriftRepaired: restored to the release: Service gateway")

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("- " + secret) })
	expect("Warning Refused: spec.collector.configuration: line 1 is not a YAML mapping; " +
		"start with a key such as \"receivers:\", or set format to raw if the file is not YAML")
	touch(t, collector) // the same failure is no news
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("fixed: " + secret) })
	expect("Normal Upgraded: to revision 4, configuration changed")

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.NodeSelector = map[string]string{"Not A Name": ""} })
	NewWithT(t).Eventually(func() string { return condition(t, collector, "Ready").Reason }).Should(Equal("ReleaseFailed"))
	expect("Warning ReleaseFailed: " + condition(t, collector, "Ready").Message)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.NodeSelector = nil }) // what is deployed, so it is no news
	NewWithT(t).Eventually(func() string { return condition(t, collector, "Ready").Reason }).ShouldNot(Equal("ReleaseFailed"))

	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, "true")
	})
	expect("Normal Paused: the operator does not follow the spec until annotation kube8.dev/paused is removed")
	change(t, collector, func(c *v1alpha1.Collector) { delete(c.Annotations, v1alpha1.PausedAnnotation) })
	expect("Normal Resumed: the operator follows the spec again")

	remove(t, collector)
	expect("Normal Uninstalled: the operator has requested the deletion of all objects that the Collector controlled")
}

// What bounds them is client-go's event correlator: 25 of one type about one object, and then one more every 5 minutes.
func TestACollectorThatIsRefusedAgainAndAgainHasFewEvents(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	since := plane.audit.mark(t)
	for line := 1; line <= 100; line++ {
		change(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration = []byte(strings.Repeat("\n", line-1) + "- " + secret)
		})
		g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(fmt.Sprintf("line %d is", line)))
	}
	told := slices.DeleteFunc(plane.audit.writes(t, since, collector.Namespace), func(request string) bool {
		return !strings.Contains(request, " events/")
	})
	g.Expect(len(told)).To(And(BeNumerically(">", 10), BeNumerically("<=", 25+2)), "2, as it takes minutes on a slow machine")
}

func TestAPolicyThatRefusesTheFinalizerIsTold(t *testing.T) {
	t.Parallel()
	g, namespace := NewWithT(t), newNamespace(t)
	const none = "!has(object.metadata.finalizers) || size(object.metadata.finalizers) == 0"
	allow := forbid(t, namespace, "kube8.dev", "collectors", none, registrationv1.Create, registrationv1.Update)
	probe := newCollector(namespace, "probe")
	probe.Finalizers = []string{"example.com/any"}
	g.Eventually(func() error { return plane.client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) }).
		Should(MatchError(ContainSubstring("not in this test")))
	collector := newCollector(namespace, "gateway")
	g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
	g.Eventually(func() []string { return slices.Collect(maps.Keys(events(t, collector))) }).Should(ContainElement(And(
		HavePrefix("Warning FinalizerRefused: the operator cannot write the Collector's finalizers, so it does nothing: "),
		ContainSubstring("not in this test"))))
	allow()
	awaitRevision(t, collector, 1)
}

func TestAPolicyThatRefusesTheStatusIsTold(t *testing.T) {
	t.Parallel()
	g, namespace := NewWithT(t), newNamespace(t)
	const none = "!has(object.status) || !has(object.status.conditions)"
	allow := forbid(t, namespace, "kube8.dev", "collectors/status", none, registrationv1.Update)
	probe := newCollector(namespace, "probe")
	probe.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	g.Expect(plane.client.Create(t.Context(), probe)).To(Succeed())
	g.Eventually(func() error {
		probe := get(t, probe, "", &v1alpha1.Collector{})
		probe.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "True"}}
		return plane.client.Status().Update(t.Context(), probe, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))

	collector := newCollector(namespace, "gateway")
	mark := shared.log.mark()
	g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
	g.Eventually(func() int { return len(shared.log.reconciles(mark, client.ObjectKeyFromObject(collector))) }).Should(BeNumerically(">=", 3))
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Generation).To(BeEquivalentTo(1), "it is deployed nevertheless")
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status).To(Equal(v1alpha1.CollectorStatus{ObservedGeneration: -1}))
	refusal := fmt.Sprintf("collectors.kube8.dev %[2]q is forbidden: ValidatingAdmissionPolicy '%[1]s' with binding '%[1]s' denied request: "+
		"not in this test", namespace+"-collectors-status", collector.Name)
	g.Expect(events(t, collector)).To(Equal(map[string]int{
		"Warning StatusRefused: the API server refuses the Collector's status, so the status is not up to date: " + refusal +
			"; let the operator's ServiceAccount patch collectors/status": 1,
	}), "once, not for each retry")
	allow()
	awaitRevision(t, collector, 1)
}
