package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

const referencesAnnotation = "kube8.dev/references"

// template returns the pod template that a Collector has become.
func template(t *testing.T, collector *v1alpha1.Collector) corev1.PodTemplateSpec {
	t.Helper()
	return get(t, collector, "", &appsv1.Deployment{}).Spec.Template
}

func references(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	return template(t, collector).Annotations[referencesAnnotation]
}

// expectNoRoll expects that what do does rolls no pod of the Collectors, and that a reconcile later still has not.
func expectNoRoll(t *testing.T, do func(), collectors ...*v1alpha1.Collector) {
	t.Helper()
	var before []corev1.PodTemplateSpec
	for _, collector := range collectors {
		before = append(before, template(t, collector))
	}
	do()
	for i, collector := range collectors {
		NewWithT(t).Consistently(func() corev1.PodTemplateSpec { return template(t, collector) }, time.Second).Should(Equal(before[i]))
		touch(t, collector)
		NewWithT(t).Expect(template(t, collector)).To(Equal(before[i]))
	}
}

func TestWhatPodsReferToRollsThem(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			backend := createBackend(t, namespace, place.object, true)
			one, two, other := newCollector(namespace, "one"), newCollector(namespace, "two"), newCollector(namespace, "other")
			for _, collector := range []*v1alpha1.Collector{one, two} {
				place.refer(collector)
			}
			for _, collector := range []*v1alpha1.Collector{one, two, other} {
				create(t, collector)
			}
			g := NewWithT(t)
			first := references(t, one)
			g.Expect(first).To(MatchRegexp(`^(Secret|ConfigMap)/backend=[0-9a-f]{16}$`))
			g.Expect(references(t, other)).To(BeEmpty())

			rotate(t, backend)
			for _, collector := range []*v1alpha1.Collector{one, two} {
				g.Eventually(func() string { return references(t, collector) }).ShouldNot(Equal(first))
				awaitRevision(t, collector, 2)
				awaitTold(t, collector)
			}
			g.Expect(references(t, one)).To(Equal(references(t, two)), "they share it")
			for _, told := range []string{"second", sha256Of("second")[:16]} {
				g.Expect(references(t, one)).NotTo(ContainSubstring(told))
			}
			g.Expect(deployedRevision(t, other)).To(Equal(1))
			expectNoRoll(t, func() { label(t, backend, "example.com/team", new("telemetry")) }, one, two)
		})
	}
}

func TestTheDigestOfAReferenceIsNoPlainHashOfItsContent(t *testing.T) {
	t.Parallel()
	var found []string
	for range 2 {
		collector := newCollector(newNamespace(t), "gateway")
		places[0].refer(collector)
		createBackend(t, collector.Namespace, places[0].object, true)
		create(t, collector)
		found = append(found, references(t, collector))
	}
	NewWithT(t).Expect(found[0]).NotTo(Equal(found[1]), "the same content in two Secrets")
}

func TestWhatIsNotFollowedRollsNoPod(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			place.refer(collector)
			backend := createBackend(t, collector.Namespace, place.object, false)
			create(t, collector)
			NewWithT(t).Expect(references(t, collector)).To(BeEmpty())
			expectNoRoll(t, func() { rotate(t, backend) }, collector)

			kind, field, _ := strings.Cut(strings.TrimPrefix(place.name, "a "), " in ")
			if strings.Contains(field, "volume") {
				field = "extraVolumes"
			}
			told := fmt.Sprintf("Normal NotFollowed: without the label kube8.dev/collector, or not there: %s \"backend\" in %s; "+
				"pods keep what they have when it changes, until you add kube8.dev/collector=gateway to it", kind, field)
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			NewWithT(t).Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKeyWithValue(told, 1))
		})
	}
}

func TestAVolumeThatTheCollectorReloadsRollsNoPod(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		if !strings.Contains(place.name, "volume") {
			continue
		}
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			place.refer(collector)
			collector.Spec.ReloadedVolumes = []string{"backend"}
			backend := createBackend(t, collector.Namespace, place.object, true)
			create(t, collector)
			NewWithT(t).Expect(references(t, collector)).To(BeEmpty())
			expectNoRoll(t, func() { rotate(t, backend) }, collector)
			NewWithT(t).Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring("NotFollowed")))
		})
	}
}

func TestAReferenceThatGoesOrLosesItsLabelRollsNoPod(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	places[0].refer(collector)
	backend := createBackend(t, collector.Namespace, places[0].object, false)
	create(t, collector)
	g := NewWithT(t)
	label(t, backend, collectorLabel, new(""))
	g.Eventually(func() string { return references(t, collector) }).ShouldNot(BeEmpty(), "once it has the label")
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)
	followed := references(t, collector)

	expectNoRoll(t, func() { label(t, backend, collectorLabel, nil) }, collector)
	expectNoRoll(t, func() { rotate(t, backend) }, collector)
	label(t, backend, collectorLabel, new(""))
	g.Eventually(func() string { return references(t, collector) }).ShouldNot(Equal(followed), "what changed meanwhile")
	awaitRevision(t, collector, 3)
	awaitTold(t, collector)
	expectNoRoll(t, func() {
		if err := plane.client.Delete(t.Context(), backend); err != nil {
			t.Fatal(err)
		}
	}, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Env = nil })
	g.Expect(references(t, collector)).To(BeEmpty(), "once the spec does not refer to it")
}

func TestTheCommandOfThePageHasASecretFollowed(t *testing.T) {
	t.Parallel()
	collector := newCollector("tenant-globex", "vendor")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: collector.Namespace}}
	if err := client.IgnoreAlreadyExists(plane.client.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, collector) })
	createBackend(t, collector.Namespace, &corev1.Secret{}, false)
	places[0].refer(collector)
	create(t, collector)
	script, err := docs.Script("docs/how-to/configuration.md", "Secrets and ConfigMaps that pods refer to")
	runScript(t, "", script, err)
	NewWithT(t).Eventually(func() string { return references(t, collector) }).Should(HavePrefix("Secret/backend="))
}

func TestARotatedCredentialIsCheckedBeforePodsGetIt(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Check = &v1alpha1.Check{}
	places[0].refer(collector)
	backend := createBackend(t, collector.Namespace, places[0].object, true)
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	first := awaitCheck(t, collector)
	acceptCheck(t, first)
	awaitRevision(t, collector, 1)
	awaitTold(t, collector)
	g, old := NewWithT(t), references(t, collector)
	g.Expect(first.Spec.Template.Annotations[referencesAnnotation]).To(Equal(old))

	rotate(t, backend)
	second := awaitCheck(t, collector, first.UID)
	g.Expect(second.Name).NotTo(Equal(first.Name))
	g.Expect(references(t, collector)).To(Equal(old), "pods wait for the check")
	acceptCheck(t, second)
	g.Eventually(func() string { return references(t, collector) }).
		Should(Equal(second.Spec.Template.Annotations[referencesAnnotation]))
}

// Not parallel: it stops the shared operator.
func TestARestartRollsNothingThatRefersToSecrets(t *testing.T) {
	namespace := newNamespace(t)
	collector := newCollector(namespace, "gateway")
	places[0].refer(collector)
	backend := createBackend(t, namespace, places[0].object, true)
	create(t, collector)
	touch(t, collector)
	g := NewWithT(t)
	for _, gone := range []bool{false, true} {
		if gone {
			expectNoRoll(t, func() {
				if err := plane.client.Delete(t.Context(), backend); err != nil {
					t.Fatal(err)
				}
			}, collector)
		}
		before, requests, since := template(t, collector), plane.audit.mark(t), shared.log.mark()
		if err := shared.stop(); err != nil {
			t.Error(err)
		}
		if err := shared.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
		g.Expect(plane.audit.all(t, requests, namespace)).To(BeEmpty(), "requests about the Collector")
		g.Expect(template(t, collector)).To(Equal(before))
	}
}

func TestTheOperatorKeepsOnlyConfigMapsThatHaveTheLabel(t *testing.T) {
	t.Parallel()
	install(t) // the operator has its cache by then
	NewWithT(t).Expect(watchesOf(t, "configmaps")).To(And(
		Not(BeEmpty()), HaveEach(selected)))
}
