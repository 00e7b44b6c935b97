package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func twoQueues(big string) []v1alpha1.VolumeClaimTemplate {
	a, b := queueOf("grows-two", big)[0], queueOf("stays-two", big)[0]
	b.Metadata.Name = "spool"
	return []v1alpha1.VolumeClaimTemplate{a, b}
}

func newTwoQueues(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	g := NewWithT(t)
	for class, grows := range map[string]bool{"grows-two": true, "stays-two": false} {
		createClass(t, class, grows)
	}
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode, collector.Spec.VolumeClaimTemplates = v1alpha1.ModeStatefulSet, twoQueues("1Gi")
	create(t, collector)
	for _, template := range collector.Spec.VolumeClaimTemplates {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: collector.Namespace, Name: template.Metadata.Name + "-gateway-0", Labels: map[string]string{collectorLabel: "gateway"},
			},
			Spec: template.Spec,
		}
		g.Expect(plane.client.Create(t.Context(), claim)).To(Succeed())
		claim.Status.Phase = corev1.ClaimBound
		g.Expect(plane.client.Status().Update(t.Context(), claim)).To(Succeed())
	}
	return collector
}

func TestNoClaimGrowsIfOneOfThemMayNot(t *testing.T) {
	t.Parallel()
	collector := newTwoQueues(t)
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = twoQueues("2Gi") })
	awaitFailed(t, collector, "expand PersistentVolumeClaim")
	awaitFailures(t, since, collector, 3) // the order of the claims is by chance
	claim := &corev1.PersistentVolumeClaim{}
	g := NewWithT(t)
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: "queue-gateway-0"}, claim)).To(Succeed())
	g.Expect(*claim.Spec.Resources.Requests.Storage()).To(Equal(resource.MustParse("1Gi")))
}

func TestAServiceDoesNotFlapWhileAClaimMayNotGrow(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "stays", false, "queue-gateway-0")
	before := get(t, collector, "", &corev1.Service{}).ResourceVersion
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.VolumeClaimTemplates = queueOf("stays", "2Gi")
		c.Spec.Ports = map[string]v1alpha1.Port{"otlp": {Enabled: new(false)}}
	})
	awaitFailed(t, collector, "expand PersistentVolumeClaim")
	awaitFailures(t, since, collector, 2)
	NewWithT(t).Expect(get(t, collector, "", &corev1.Service{}).ResourceVersion).To(Equal(before))
}

func TestANetworkPolicyOfAChangeWhoseClaimsMayNotGrowIsNotInForce(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "stays", false, "queue-gateway-0")
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.VolumeClaimTemplates = queueOf("stays", "2Gi")
		c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	})
	awaitFailed(t, collector, "expand PersistentVolumeClaim")
	awaitFailures(t, since, collector, 2)
	NewWithT(t).Eventually(func() []string { return names(contents(t, collector.Namespace)) }).
		ShouldNot(ContainElement("NetworkPolicy/gateway"))
}

// finishOrphaning does what the garbage collector does at last for a StatefulSet that is deleted without its pods.
func finishOrphaning(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	set := get(t, collector, "", &appsv1.StatefulSet{})
	set.Finalizers = nil
	NewWithT(t).Expect(plane.client.Update(t.Context(), set)).To(Succeed())
}

func TestPodsOfAStatefulSetWhoseClaimsGrowDoNotOutliveTheirCollector(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	pod := runPodAs(t, collector, "gateway-0", corev1.VolumeSource{}) // it has lost its controller
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	g := NewWithT(t)
	g.Eventually(func() *metav1.Time { return get(t, collector, "", &appsv1.StatefulSet{}).DeletionTimestamp }).ShouldNot(BeNil())
	old, deleted := get(t, collector, "", &appsv1.StatefulSet{}).UID, time.Now()
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
	awaitFailed(t, collector, "takes its pods back before it goes")
	finishOrphaning(t, collector)
	again := &appsv1.StatefulSet{}
	g.Eventually(func() types.UID {
		_ = plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), again)
		return again.UID
	}).ShouldNot(Or(BeEmpty(), Equal(old)))
	takeBack(t, collector, pod)
	g.Eventually(func() error { return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), collector) }).
		WithTimeout(28*time.Second-time.Since(deleted)).Should(MatchError(ContainSubstring("not found")), "after 30 s it goes in any case")
}

func TestPodsOfAStatefulSetWhoseClaimsGrowAreTakenBackBeforeTheModeChanges(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	runPodAs(t, collector, "gateway-0", corev1.VolumeSource{}) // it has lost its controller
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	g := NewWithT(t)
	g.Eventually(func() *metav1.Time { return get(t, collector, "", &appsv1.StatefulSet{}).DeletionTimestamp }).ShouldNot(BeNil())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.VolumeClaimTemplates = v1alpha1.ModeDeployment, nil })
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).
		Should(ContainSubstring("takes its pods back before the mode changes"))
	finishOrphaning(t, collector)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.StatefulSet{})
	}).WithTimeout(30*time.Second).Should(Succeed(), "%v", condition(t, collector, "Ready"))
}

func TestAStatefulSetIsRepairedAlthoughARefusedChangeHasGrownItsClaims(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	orphanPods(t.Context(), t, collector)
	before := get(t, collector, "", &appsv1.StatefulSet{})
	refuseIngresses(t, collector)
	deployed := collector.Spec.DeepCopy()
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.VolumeClaimTemplates, c.Spec.Ingress = queueOf("grows", "2Gi"), anIngress()
		c.Spec.Collector.Version = "0.151.0"
	})
	awaitFailed(t, collector, "not by me")
	g := NewWithT(t)
	expectRepaired := func() {
		t.Helper()
		g.Eventually(func() corev1.PodTemplateSpec { return get(t, collector, "", &appsv1.StatefulSet{}).Spec.Template }).
			Should(Equal(before.Spec.Template), "%v", condition(t, collector, "Ready"))
		set := get(t, collector, "", &appsv1.StatefulSet{})
		g.Expect(set.UID).NotTo(Equal(before.UID))
		g.Expect(set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"), "claims cannot shrink")
	}
	expectRepaired()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec = *deployed })
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).ShouldNot(ContainSubstring("not by me"))
	expectRepaired()
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
}

func TestClaimsGrowBesideACollectorThatIsNamedAsTheDryRun(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	other := newCollector(collector.Namespace, "gateway-dry-run")
	other.Spec.Mode = v1alpha1.ModeStatefulSet
	create(t, other)
	orphanPods(t.Context(), t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	NewWithT(t).Eventually(func() int { return deployedRevision(t, collector) }).
		Should(BeEquivalentTo(2), "%v", condition(t, collector, "Ready"))
}

func TestAClaimWithoutLabelsGrowsWithItsTemplate(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	restored := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "queue-gateway-1"}, Spec: collector.Spec.VolumeClaimTemplates[0].Spec,
	}
	g := NewWithT(t)
	g.Expect(plane.client.Create(t.Context(), restored)).To(Succeed())
	restored.Status.Phase = corev1.ClaimBound
	g.Expect(plane.client.Status().Update(t.Context(), restored)).To(Succeed())
	orphanPods(t.Context(), t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(restored), restored)).To(Succeed())
	g.Expect(restored.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
}

func TestAClaimOfSomebodyElseDoesNotGrow(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0", "queue-gateway-7")
	claim := &corev1.PersistentVolumeClaim{}
	g := NewWithT(t)
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: "queue-gateway-7"}, claim)).To(Succeed())
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Database", Name: "a", UID: "1-2", Controller: new(true)}}
	g.Expect(plane.client.Update(t.Context(), claim)).To(Succeed())
	orphanPods(t.Context(), t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	g.Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("1Gi"))
}

// Not parallel: it stops the shared operator.
func TestAStrayPodDoesNotKeepAChangeAway(t *testing.T) {
	collector := install(t)
	runPod(t, collector, corev1.VolumeSource{}) // as one whose pod-template-hash was removed, to debug it
	g := NewWithT(t)
	g.Expect(shared.stop()).To(Succeed())
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(plane.client.Delete(t.Context(), deployment)).To(Succeed())
	allow := forbid(t, collector.Namespace, "apps", "deployments", "!object.spec.template.spec.containers[0].image.endsWith('0.150.0')", "CREATE", "UPDATE")
	g.Eventually(func() error {
		probe := deployment.DeepCopy()
		probe.ObjectMeta = metav1.ObjectMeta{Namespace: collector.Namespace, Name: "probe"}
		return plane.client.Create(t.Context(), probe, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	startAgain(t)
	g.Eventually(func() int { return deployedRevision(t, collector) }).Should(BeNumerically(">", 1))
	allow()
}

// newSharedQueue returns a Collector whose pods share a volume that can grow, and how large its claim is.
func newSharedQueue(t *testing.T) (collector *v1alpha1.Collector, size func() string) {
	t.Helper()
	createClass(t, "expands", true)
	collector = newCollector(newNamespace(t), "gateway")
	collector.Spec.VolumeClaims = queueOf("expands", "1Gi")
	return collector, func() string {
		t.Helper()
		return get(t, collector, "-queue", &corev1.PersistentVolumeClaim{}).Spec.Resources.Requests.Storage().String()
	}
}

// The first attempt is refused by a dry run, and so are the later ones, which begin with what was refused.
func TestARefusalThatStaysGrowsNoClaimAndChangesNoServiceAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector, size := newSharedQueue(t)
	collector.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Annotations: v1alpha1.Annotations{"role": "old"}}
	create(t, collector)
	serve(t, collector, 1)
	claim := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	bind(t, claim)
	limit := quota(t, collector.Namespace, "count/ingresses.networking.k8s.io")

	versions := func() [2]string {
		account := get(t, collector, "", &corev1.ServiceAccount{})
		return [2]string{size(), account.ResourceVersion + account.Annotations["role"]}
	}
	before := versions()
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.VolumeClaims, c.Spec.Ingress = queueOf("expands", "2Gi"), anIngress()
		c.Spec.ServiceAccount.Annotations = v1alpha1.Annotations{"role": "new"}
	})
	awaitFailed(t, collector, "exceeded quota")
	g.Consistently(versions, 8*time.Second).Should(Equal(before), "as long as it is refused")
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	awaitRevision(t, collector, 2)
	g.Expect(size()).To(Equal("2Gi"))
}

func TestNoClaimGrowsWhoseStatefulSetMayNotGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	before := identities(t, collector)
	forbid(t, collector.Namespace, "apps", "statefulsets", "false", registrationv1.Delete)
	g.Eventually(func() error {
		return plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.StatefulSet{}), client.DryRunAll)
	}).ShouldNot(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	awaitFailed(t, collector, "not in this test")
	claim := &corev1.PersistentVolumeClaim{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: "queue-gateway-0"}, claim)).To(Succeed())
	g.Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("1Gi"), "it cannot shrink")
	expectUnharmed(t, collector, before)
}

// As an autoscaler of volumes does.
func TestAClaimThatSomethingElseHasGrownKeepsNoChangeAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector, size := newSharedQueue(t)
	create(t, collector)
	claim := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	bind(t, claim)
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	bind(t, claim)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	g.Expect(size()).To(Equal("2Gi"))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaims = queueOf("expands", "1500Mi") })
	awaitFailed(t, collector, "spec.volumeClaims[0].spec.resources.requests.storage")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaims = queueOf("expands", "3Gi") })
	g.Expect(size()).To(Equal("3Gi"))
}
