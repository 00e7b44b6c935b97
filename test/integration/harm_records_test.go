package integration

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// secondRecordOf returns the name of the Secret that records a Collector's second revision.
func secondRecordOf(collector *v1alpha1.Collector) types.NamespacedName {
	return types.NamespacedName{Namespace: collector.Namespace, Name: "sh.helm.release.v1." + collector.Name + ".v2"}
}

// loseService deletes a Collector's Service, and waits until there is another one.
func loseService(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	awaitOtherService(t, collector, deleteService(t, collector))
}

func deleteService(t *testing.T, collector *v1alpha1.Collector) (deleted types.UID) {
	t.Helper()
	service := get(t, collector, "", &corev1.Service{})
	if err := plane.client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return service.UID
}

func awaitOtherService(t *testing.T, collector *v1alpha1.Collector, than types.UID) {
	t.Helper()
	NewWithT(t).Eventually(func() types.UID {
		service := &corev1.Service{}
		_ = plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), service)
		return service.UID
	}).ShouldNot(Or(BeEmpty(), Equal(than)), "the Service is there again")
}

// startAgain starts the shared operator, which the test has stopped.
func startAgain(t *testing.T) {
	t.Helper()
	forgetLeader(t)
	if err := shared.start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// nextOperator stops the shared operator, does something, and has another one reconcile a Collector.
func nextOperator(t *testing.T, collector *v1alpha1.Collector, meanwhile func()) {
	t.Helper()
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	meanwhile()
	since := shared.log.mark()
	startAgain(t)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
}

// Not parallel: it stops the shared operator.
func TestAQuotaOnSecretsRefusesTheChangeAndNothingChanges(t *testing.T) {
	collector := install(t)
	becomeReady(t, collector)
	versions := versionsOf(t, collector)
	g := NewWithT(t)
	g.Eventually(versions).ShouldNot(BeEmpty())
	limit := quota(t, collector.Namespace, "count/secrets")
	before := get(t, collector, "", &corev1.Service{}).ResourceVersion
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Version, c.Spec.Ports = "0.151.0", map[string]v1alpha1.Port{"syslog": {Port: 5500}}
	})
	awaitFailed(t, collector, "exceeded quota")
	g.Expect(get(t, collector, "", &corev1.Service{}).ResourceVersion).To(Equal(before), "nothing was written but dry runs")
	loseService(t, collector) // which is restored as it was
	g.Expect(get(t, collector, "", &corev1.Service{}).Spec.Ports).NotTo(ContainElement(HaveField("Port", int32(5500))))

	nextOperator(t, collector, func() {})
	awaitFailed(t, collector, "exceeded quota")
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"1 deployed"}))
	g.Consistently(versions, 2*time.Second).Should(Equal([]string{"0.150.0"}))

	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	touch(t, collector)
	awaitRevision(t, collector, 2)
	g.Eventually(versions).Should(Equal([]string{"0.150.0", "0.151.0"}))
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(Equal([]string{"1 superseded", "2 deployed"}))
}

// A webhook without dry runs refuses it when the revision has begun.
func TestTheRecordOfAChangeThatIsRefusedHalfWayIsWithdrawn(t *testing.T) {
	t.Parallel()
	collector := install(t)
	becomeReady(t, collector)
	var isOver atomic.Bool
	refuseAs(t, collector.Namespace, "apps", "deployments", denied, func(r *admissionv1.AdmissionRequest) bool { return !*r.DryRun && !isOver.Load() })
	awaitDenied(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Version, c.Spec.Ports = "0.151.0", map[string]v1alpha1.Port{"syslog": {Port: 5500}}
	})
	awaitFailed(t, collector, "not by me")
	g := NewWithT(t)
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(Equal([]string{"1 deployed"}))
	g.Eventually(func() []corev1.ServicePort { return get(t, collector, "", &corev1.Service{}).Spec.Ports }).
		ShouldNot(ContainElement(HaveField("Port", int32(5500))), "the Service is as it was")
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status.History).To(HaveExactElements(HaveField("Revision", int64(1))))
	isOver.Store(true)
	touch(t, collector)
	awaitRevision(t, collector, 2)
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status.History).To(HaveExactElements(
		HaveField("Revision", int64(1)), And(HaveField("Revision", int64(2)), HaveField("Generation", BeNumerically(">", 1)), HaveField("Hash", Not(BeEmpty())))))
}

// Not parallel: it stops the shared operator.
func TestARecordThatWasReplacedIsNotDeleted(t *testing.T) {
	collector := install(t, keepsThree)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	first := record(t, collector)
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}
	g := NewWithT(t)
	nextOperator(t, collector, func() {
		g.Expect(plane.client.Delete(t.Context(), first)).To(Succeed())
		g.Expect(plane.client.Create(t.Context(), foreign)).To(Succeed())
	})
	for _, version := range []string{"0.152.0", "0.153.0", "0.154.0"} {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
	}
	g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"3 superseded", "4 superseded", "5 deployed"}))
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed(), "a Secret of another owner")
}

// A tenant that may write Secrets can forge one.
func TestARecordOfAForgedNumberChangesNoNumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := install(t)
	last := record(t, collector)
	forged := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: last.Namespace, Name: "sh.helm.release.v1.gateway.v100000", Labels: last.Labels, OwnerReferences: last.OwnerReferences,
		},
		Type: last.Type,
	}
	g.Expect(plane.client.Create(t.Context(), forged)).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), last)).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitRevision(t, collector, 2)
}

func TestRecordsThatSomebodyGivesTheOperatorsLabelStay(t *testing.T) {
	t.Parallel()
	collector := install(t, keepsThree)
	configure(t, collector, "second: {}")
	configure(t, collector, "third: {}")
	g := NewWithT(t)
	var secrets corev1.SecretList
	g.Expect(plane.client.List(t.Context(), &secrets, client.InNamespace(collector.Namespace))).To(Succeed())
	for i := range secrets.Items { // kubectl label secrets --all
		g.Expect(plane.client.Patch(t.Context(), &secrets.Items[i], client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"`+collectorLabel+`": "gateway"}}}`)))).To(Succeed())
	}
	// Neither takes the other's place: three records stay, and three configurations.
	for _, version := range []string{"0.151.0", "0.152.0"} { // the informer cache may not have shown the labels to the first
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
		becomeReady(t, collector)
	}
	all := []string{"3 superseded", "4 superseded", "5 deployed"}
	g.Consistently(func() []string { return statusesOfRevisions(t, collector) }, 2*time.Second).Should(Equal(all))
	g.Expect(names(contents(t, collector.Namespace))).To(ContainElements(
		"Secret/gateway"+filesOf(config), "Secret/gateway"+filesOf("second: {}"), "Secret/gateway"+filesOf("third: {}")))
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	loseService(t, collector) // which is restored from the record
	g.Expect(statusesOfRevisions(t, collector)).To(Equal(all))
}

// Not parallel: it stops the shared operator.
func TestAForgedRecordIsNotTakenForDeployed(t *testing.T) {
	for name, forge := range map[string]func(manifest string) string{
		"it has no workload": func(manifest string) string {
			part := ""
			for text := range strings.SplitSeq(manifest, "---\n") {
				if strings.Contains(text, "kind: ServiceAccount") {
					part = "---\n" + text
				}
			}
			return part
		},
		"it has another image": func(manifest string) string {
			return regexp.MustCompile(`image: .*`).ReplaceAllString(manifest, "image: example.com/forged:1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			collector := install(t)
			g := NewWithT(t)
			g.Expect(shared.stop()).To(Succeed())
			releases := releasesOf(t, collector)
			forged, err := releases.Get(collector.Name, 1)
			g.Expect(err).NotTo(HaveOccurred())
			was := forged.Manifest
			forged.Manifest, forged.Version = forge(was), 2
			g.Expect(forged.Manifest).NotTo(Or(BeEmpty(), Equal(was)))
			g.Expect(releases.Create(forged)).To(Succeed())
			secret := &corev1.Secret{}
			g.Expect(plane.client.Get(t.Context(), secondRecordOf(collector), secret)).To(Succeed())
			secret.OwnerReferences = record(t, collector).OwnerReferences
			g.Expect(plane.client.Update(t.Context(), secret)).To(Succeed())
			// The operator cannot render what the Collector asks for, so it restores what it takes for deployed.
			reconfigure(t, collector, "- refused")
			lost := deleteService(t, collector)
			startAgain(t)
			awaitFailed(t, collector, "not a YAML mapping")
			awaitOtherService(t, collector, lost)
			g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image).NotTo(ContainSubstring("forged"))
		})
	}
}

func TestAServiceAccountThatIsNamedLikeARecordMakesNoLoop(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Name: "sh.helm.release.v1.other"}
	create(t, collector)
	becomeReady(t, collector)
	since := plane.audit.mark(t)
	g := NewWithT(t)
	g.Consistently(func() []string { return plane.audit.writes(t, since, collector.Namespace) }, 5*time.Second).Should(BeEmpty())
	g.Expect(condition(t, collector, "Ready").Status).To(Equal(corev1.ConditionTrue))
}

// Not parallel: it stops the shared operator.
func TestRecordsOfChangesThatTheStatusDoesNotTellOfAreWithdrawn(t *testing.T) {
	g, collector := NewWithT(t), install(t)
	becomeReady(t, collector)
	allow := forbid(t, collector.Namespace, "kube8.dev", "collectors/status", "false", registrationv1.Update)
	g.Eventually(func() error {
		probe := get(t, collector, "", &v1alpha1.Collector{})
		probe.Status.Version = "probe"
		return plane.client.Status().Update(t.Context(), probe, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))
	last := func() []string { return statusesOfRevisions(t, collector) }
	for revision, version := range []string{"0.151.0", "0.152.0", "0.153.0", "0.154.0"} {
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
		g.Eventually(last).Should(ContainElement(fmt.Sprintf("%d deployed", revision+2)))
	}
	nextOperator(t, collector, allow)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.155.0" })
	g.Eventually(last).Should(And(HaveLen(deployedRevision(t, collector)), WithTransform(
		func(all []string) string { return strings.Join(all, ", ") }, MatchRegexp(`^(\d superseded, )+\d deployed$`))))
}
