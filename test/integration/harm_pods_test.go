package integration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// newAutoscaled creates a Collector with a Deployment that an autoscaler has given some pods, which serve.
func newAutoscaled(t *testing.T, pods int32) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(2)), MaxReplicas: new(int32(20))}
	create(t, collector)
	scale(t, get(t, collector, "", &appsv1.Deployment{}), fmt.Sprintf(`{"spec": {"replicas": %d}}`, pods))
	serve(t, collector, pods)
	return collector
}

func anIngress() *v1alpha1.Ingress {
	return &v1alpha1.Ingress{Enabled: true, Hosts: []v1alpha1.IngressHost{{Host: "otlp.example.com"}}}
}

// refuseIngresses has a webhook refuse Ingresses, which are applied after workloads, but no dry run of them.
func refuseIngresses(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	refuseAs(t, collector.Namespace, "networking.k8s.io", "ingresses", denied, func(r *admissionv1.AdmissionRequest) bool { return !*r.DryRun })
	NewWithT(t).Eventually(func() error {
		probe := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, GenerateName: "probe-"}}
		probe.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "probe", Port: networkingv1.ServiceBackendPort{Number: 1},
		}}
		return plane.client.Create(t.Context(), probe)
	}).Should(MatchError(ContainSubstring("not by me")))
}

func TestPodsThatAnAutoscalerHasMadeStayIfTheEndOfAutoscalingIsRefused(t *testing.T) {
	t.Parallel()
	collector := newAutoscaled(t, 10)
	refuseIngresses(t, collector)
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Autoscaling, c.Spec.Replicas = nil, new(int32(2))
		c.Spec.Ingress = anIngress()
	})
	awaitFailed(t, collector, "not by me")
	awaitFailures(t, since, collector, 1)
	NewWithT(t).Eventually(func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }).
		Should(BeEquivalentTo(10))
}

func TestADeploymentThatWasOrphanedWhileTheOperatorWasDownComesBackWithAsManyPods(t *testing.T) {
	collector := newAutoscaled(t, 10)
	g := NewWithT(t)
	g.Eventually(func() int32 { return get(t, collector, "", &v1alpha1.Collector{}).Status.Replicas }).Should(BeEquivalentTo(10))
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "gateway-1", Labels: map[string]string{collectorLabel: "gateway"}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(10)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{collectorLabel: "gateway"}},
			Template: get(t, collector, "", &appsv1.Deployment{}).Spec.Template,
		},
	}
	g.Expect(plane.client.Create(t.Context(), set)).To(Succeed())
	for range 10 {
		pod := runPod(t, collector, corev1.VolumeSource{})
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		g.Expect(plane.client.Update(t.Context(), pod)).To(Succeed())
	}
	g.Expect(shared.stop()).To(Succeed())
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(plane.client.Delete(t.Context(), deployment)).To(Succeed())
	startAgain(t)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(Succeed())
	awaitTold(t, collector)
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeNumerically(">=", 10))
}

func TestPodsOfAModeThatIsLeftAgainAreNotLost(t *testing.T) {
	t.Parallel()
	collector := newAutoscaled(t, 2)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	g := NewWithT(t)
	g.Expect(*get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas).To(BeEquivalentTo(2))
	scale(t, get(t, collector, "", &appsv1.StatefulSet{}), `{"spec": {"replicas": 10}}`)
	set := get(t, collector, "", &appsv1.StatefulSet{})
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 10, UpdatedReplicas: 10, ReadyReplicas: 9, AvailableReplicas: 9}
	g.Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
	g.Eventually(func() int32 { return get(t, collector, "", &v1alpha1.Collector{}).Status.Replicas }).Should(BeEquivalentTo(10))
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = "" })
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(10))
	g.Expect(get(t, collector, "", &appsv1.StatefulSet{}).DeletionTimestamp).To(BeNil(), "it serves until the Deployment does")
	scale(t, deployment, `{"spec": {"replicas": 3}}`)
	serve(t, collector, 3)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.StatefulSet{})
	}).Should(MatchError(ContainSubstring("not found")))
	g.Expect(*get(t, collector, "", deployment).Spec.Replicas).To(BeEquivalentTo(3), "the autoscaler's number stays")
}

// Not parallel: it stops the shared operator.
func TestADeploymentWhoseCreationIsRefusedAtFirstComesBackWithAsManyPods(t *testing.T) {
	collector := newAutoscaled(t, 10)
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g := NewWithT(t)
	g.Eventually(func() int32 { return get(t, collector, "", &v1alpha1.Collector{}).Status.Replicas }).Should(BeEquivalentTo(10))
	g.Expect(shared.stop()).To(Succeed())
	limit := quota(t, collector.Namespace, "count/deployments.apps")
	g.Expect(plane.client.Delete(t.Context(), deployment)).To(Succeed())
	startAgain(t)
	awaitFailed(t, collector, "exceeded quota")
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	touch(t, collector)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), deployment)
	}).Should(Succeed())
	awaitTold(t, collector)
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeEquivalentTo(10))
}
