package integration

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// hold has a finalizer keep an object, until the test calls release or ends.
func hold(t *testing.T, object client.Object) (release func()) {
	t.Helper()
	object.SetFinalizers([]string{"example.com/held"})
	NewWithT(t).Expect(plane.client.Update(t.Context(), object)).To(Succeed())
	release = func() {
		none := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
		_ = plane.client.Patch(context.WithoutCancel(t.Context()), object, none)
	}
	t.Cleanup(release)
	return release
}

// expectHeldNamed waits until Ready names an object that a finalizer keeps, and expects that nothing is asked for meanwhile. When the
// object has gone, Ready is True.
func expectHeldNamed(t *testing.T, collector *v1alpha1.Collector, message string, release func()) {
	t.Helper()
	awaitReady(t, collector, "False", v1alpha1.ReasonProgressing, message)
	touch(t, collector)
	awaitTold(t, collector)
	since := plane.audit.mark(t)
	g := NewWithT(t)
	g.Consistently(func() []string { return plane.audit.writes(t, since, collector.Namespace) }, 3*time.Second).Should(BeEmpty())
	g.Expect(condition(t, collector, "Ready").Message).To(ContainSubstring(message))
	release()
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
}

func TestAWorkloadThatAFinalizerHoldsBesideTheNewOneIsNamed(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	release := hold(t, get(t, collector, "", &appsv1.Deployment{}))
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	NewWithT(t).Eventually(func() *metav1.Time { return get(t, collector, "", &appsv1.Deployment{}).DeletionTimestamp }).ShouldNot(BeNil())
	expectHeldNamed(t, collector, `Deployment "gateway" is being deleted, and held by finalizers example.com/held`, release)
}

func TestAPolicyThatAFinalizerHoldsIsNamed(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	create(t, collector)
	release := hold(t, get(t, collector, "", &networkingv1.NetworkPolicy{}))
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = nil })
	serve(t, collector, 1)
	expectHeldNamed(t, collector, `NetworkPolicy "gateway" is being deleted, and held by finalizers example.com/held`, release)
}

func TestReadySaysThatWhatServesCannotBeRepairedWhileARefusalStands(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	limit := quota(t, collector.Namespace, "count/services")
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &corev1.Service{}))).To(Succeed())
	awaitFailed(t, collector, `repair revision 1 meanwhile: apply Service "gateway": `)
	g.Expect(condition(t, collector, "Ready")).To(And(
		HaveField("Reason", v1alpha1.ReasonConfigInvalid), HaveField("Message", ContainSubstring("not a YAML mapping"))))

	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	touch(t, collector)
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).
		Should(And(ContainSubstring("not a YAML mapping"), Not(ContainSubstring("meanwhile"))))
	get(t, collector, "", &corev1.Service{})
}

func TestAPausedRolloutIsNamed(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	scale(t, get(t, collector, "", &appsv1.Deployment{}), `{"spec": {"paused": true}}`)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	deployment := get(t, collector, "", &appsv1.Deployment{})
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: "Unknown", Reason: "DeploymentPaused", Message: "Deployment is paused"},
		},
	}
	NewWithT(t).Expect(plane.client.Status().Update(t.Context(), deployment)).To(Succeed())
	awaitReady(t, collector, "False", v1alpha1.ReasonPodsNotReady, "0/1 updated; DeploymentPaused")
}
