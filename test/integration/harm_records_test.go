package integration

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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

func TestAChangeWhoseRecordAQuotaRefusesIsAppliedOnce(t *testing.T) {
	t.Parallel()
	collector := install(t)
	versions := versionsOf(t, collector)
	g := NewWithT(t)
	g.Eventually(versions).ShouldNot(BeEmpty())
	limit := quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, notRecorded)
	g.Consistently(versions, 3*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}))
	loseService(t, collector)
	g.Consistently(versions, 3*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}), "after the Service was deleted")
	g.Expect(condition(t, collector, "Ready").Message).To(ContainSubstring(notRecorded))

	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	touch(t, collector)
	awaitRevision(t, collector, 2)
	becomeReady(t, collector)
	g.Expect(versions()).To(Equal([]string{"0.150.0", "0.151.0"}))
}

func TestAChangeWhoseRecordIsRefusedIsNoChangeOfTheOperator(t *testing.T) {
	t.Parallel()
	collector := install(t)
	becomeReady(t, collector)
	limit := quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, notRecorded)
	serve(t, collector, 1)
	g := NewWithT(t)
	g.Consistently(func() string { return condition(t, collector, v1alpha1.UpdatePending).Message }, 4*time.Second).Should(BeEmpty())
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(Equal([]string{"1 superseded", "2 deployed"}))
	awaitReady(t, collector, "True", "Available", "1/1")
}

func TestARevisionThatIsRecordedLateIsToldWhileTheNextOneCannotBeRendered(t *testing.T) {
	t.Parallel()
	collector := install(t)
	limit := quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, notRecorded)
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	g.Eventually(func() []string { touch(t, collector); return statusesOfRevisions(t, collector) }).Should(HaveLen(2))
	g.Eventually(func() v1alpha1.CollectorStatus { return get(t, collector, "", &v1alpha1.Collector{}).Status }).Should(And(
		HaveField("DeployedRelease.Revision", int64(2)), HaveField("DeployedRelease.Generation", int64(2)), HaveField("Version", "0.151.0")))
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
func TestAnAnnotationOfARecordHasNoSecretOfSomebodyElseDeleted(t *testing.T) {
	collector := install(t, keepsThree)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	g := NewWithT(t)
	g.Expect(shared.stop()).To(Succeed())
	first := record(t, collector)
	g.Expect(plane.client.Delete(t.Context(), first)).To(Succeed())
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}
	g.Expect(plane.client.Create(t.Context(), foreign)).To(Succeed())
	second := &corev1.Secret{}
	g.Expect(plane.client.Get(t.Context(), secondRecordOf(collector), second)).To(Succeed())
	g.Expect(second.Annotations).To(HaveKey("kube8.dev/earlier"))
	second.Annotations["kube8.dev/earlier"] = "1=" + string(foreign.UID)
	g.Expect(plane.client.Update(t.Context(), second)).To(Succeed())
	startAgain(t)
	for _, version := range []string{"0.152.0", "0.153.0", "0.154.0"} {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
	}
	g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"3 superseded", "4 superseded", "5 deployed"}))
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed(), "a Secret of somebody else")
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

func TestAChangeThatIsNotRecordedIsRepairedWhileAnotherOneIsRefused(t *testing.T) {
	t.Parallel()
	collector := install(t)
	limit := quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, "not recorded")
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	loseService(t, collector)
	g := NewWithT(t)
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease.Revision).To(BeEquivalentTo(1))
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	g.Eventually(func() int {
		loseService(t, collector)
		return deployedRevision(t, collector)
	}).Should(Equal(2), "the repair records it")
}

// Not parallel: it stops the shared operator.
func TestAChangeThatIsNotRecordedIsRecordedByTheNextOperator(t *testing.T) {
	collector := install(t)
	limit := quota(t, collector.Namespace, "count/secrets")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, "not recorded")
	g := NewWithT(t)
	nextOperator(t, collector, func() { g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed()) })
	awaitRevision(t, collector, 2)
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	loseService(t, collector) // which is restored from the record
}

// Anybody who may write Secrets can edit it.
func TestAnAnnotationThatTellsOfManyRecordsCostsNoRequests(t *testing.T) {
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
	awaitRevision(t, collector, 100001)
	awaitTold(t, collector)

	key := client.ObjectKey{Namespace: last.Namespace, Name: "sh.helm.release.v1.gateway.v100001"}
	g.Expect(plane.client.Get(t.Context(), key, last)).To(Succeed())
	var told []string
	for i := range 30000 {
		told = append(told, strconv.Itoa(i+1)+"=a")
	}
	metav1.SetMetaDataAnnotation(&last.ObjectMeta, "kube8.dev/earlier", strings.Join(told, ","))
	g.Expect(plane.client.Update(t.Context(), last)).To(Succeed())
	since := plane.audit.mark(t)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.152.0" })
	awaitRevision(t, collector, 100002)
	g.Expect(len(plane.audit.all(t, since, collector.Namespace))).To(BeNumerically("<", 30))
}
