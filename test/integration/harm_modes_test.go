package integration

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// awaitNoDeployment waits until a Collector has no Deployment.
func awaitNoDeployment(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(MatchError(apierrors.IsNotFound, "not found"), "Ready: %v", condition(t, collector, "Ready"))
}

func TestAWorkloadOfAnotherModeGoesAlsoIfPodsStayOldByThePartition(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Mode = v1alpha1.ModeStatefulSet
		c.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{RollingUpdate: &v1alpha1.RollingUpdate{Partition: new(int32(1))}}
	})
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	set := get(t, collector, "", &appsv1.StatefulSet{})
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, CurrentReplicas: 1}
	NewWithT(t).Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
	awaitNoDeployment(t, collector)
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
}

func TestAWorkloadThatLostItsLabelWhilePausedGoesWithItsMode(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	pause(t, collector)
	scale(t, get(t, collector, "", &appsv1.Deployment{}), `{"metadata": {"labels": {"kube8.dev/collector": null}}}`)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	resume(t, collector)
	awaitRevision(t, collector, 2)
	g := NewWithT(t)
	g.Consistently(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}, 3*time.Second).Should(Succeed(), "it serves until the new workload does")
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	awaitNoDeployment(t, collector)
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
}

func TestTheModeChangesAlsoIfAWebhookTakesAnnotationsAway(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	const takesAway = `[` + addsLabel + `, {"op": "add", "path": "/metadata/annotations", "value": {}}]`
	complete(t, "apps", "statefulsets", takesAway, statefulSetIn(collector.Namespace), registrationv1.Update)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	awaitRevision(t, collector, 2)
	g := NewWithT(t)
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(`serves until StatefulSet "gateway" does`))
	since := plane.audit.mark(t)
	touch(t, collector)
	g.Consistently(func() []string { return plane.audit.writes(t, since, collector.Namespace) }, 3*time.Second).
		ShouldNot(ContainElement(ContainSubstring(" statefulsets/")), "it is applied again and again")
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	awaitNoDeployment(t, collector)
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
}

func TestAWorkloadThatSomebodyDeletesWhileTheModeChangesIsLookedForOnce(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	pause(t, collector)
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	resume(t, collector)
	awaitRevision(t, collector, 2)
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
	touch(t, collector)
	since := plane.audit.mark(t)
	g.Consistently(func() []string { return plane.audit.all(t, since, collector.Namespace) }, 5*time.Second).Should(BeEmpty())
}

func TestAWorkloadThatSomebodyDeletesComesBackIfTheChangeOfModeIsRefused(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode = v1alpha1.ModeStatefulSet
	create(t, collector)
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeDeployment }) // and does not serve yet
	refuseAs(t, collector.Namespace, "apps", "statefulsets", denied, func(*admissionv1.AdmissionRequest) bool { return true })
	pause(t, collector)
	deleted := get(t, collector, "", &appsv1.Deployment{})
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), deleted)).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Mode, c.Spec.Collector.Version = v1alpha1.ModeStatefulSet, "0.151.0"
	})
	resume(t, collector)
	awaitFailed(t, collector, denied.Message)
	g.Eventually(func(g Gomega) {
		again := &appsv1.Deployment{}
		g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(deleted), again)).To(Succeed())
		g.Expect(again.UID).NotTo(Equal(deleted.UID))
	}).Should(Succeed())
}

func TestAWorkloadThatLosesItsLabelWhileAnotherChangeIsRefusedGoesWithItsMode(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	scale(t, get(t, collector, "", &appsv1.Deployment{}), `{"metadata": {"labels": {"kube8.dev/collector": null}}}`)
	NewWithT(t).Eventually(func() map[string]string { return get(t, collector, "", &appsv1.Deployment{}).Labels }).
		Should(HaveKey(collectorLabel))
	configure(t, collector, "valid: {}")
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	awaitNoDeployment(t, collector)
}

func TestAChangeOfAWorkloadThatIsBeingDeletedIsTriedBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	deleted := get(t, collector, "", &appsv1.Deployment{})
	release := hold(t, deleted)
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), deleted)).To(Succeed())
	refuseAs(t, collector.Namespace, "apps", "deployments", denied, func(r *admissionv1.AdmissionRequest) bool {
		return bytes.Contains(r.Object.Raw, []byte(refusedValue))
	})
	awaitRefusedValue(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Env = []corev1.EnvVar{{Name: "A", Value: refusedValue}} })
	awaitFailed(t, collector, denied.Message)
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	release()
	g.Eventually(func(g Gomega) {
		again := &appsv1.Deployment{}
		g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(deleted), again)).To(Succeed())
		g.Expect(again.UID).NotTo(Equal(deleted.UID))
	}).Should(Succeed())
}

const refusedValue = "a-value-that-is-refused"

// awaitRefusedValue waits until the API server knows a webhook that refuses Deployments with that value of a variable.
func awaitRefusedValue(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, GenerateName: "probe-"}}
		probe.Spec = get(t, collector, "", &appsv1.Deployment{}).Spec
		probe.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: refusedValue}}
		return plane.client.Create(t.Context(), probe, client.DryRunAll)
	}).Should(MatchError(ContainSubstring(denied.Message)))
}
