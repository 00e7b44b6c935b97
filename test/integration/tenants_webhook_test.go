package integration

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All workers wait for the webhook of one tenant, and more of the tenant's Collectors wait for a worker than another one, which comes last.
// The first worker that is done takes that one.
func TestTenantsWithASlowWebhookKeepNobodyElseWaiting(t *testing.T) {
	slow, other := newNamespace(t), newCollector(newNamespace(t), "other")
	workers := int64(2 * runtime.GOMAXPROCS(0))
	var asked, tried atomic.Int64
	next, ends := make(chan struct{}), make(chan struct{})
	server := answerReviews(t, func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if *request.DryRun {
			tried.Add(1)
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		asked.Add(1)
		select {
		case <-next:
		case <-ends:
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	register(t, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow-" + slow},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "slow.example.com", ClientConfig: server, Rules: writesOfDeployments, TimeoutSeconds: new(int32(30)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: slow}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
	defer close(ends)
	g := NewWithT(t)
	g.Eventually(func() int64 {
		_ = plane.client.Create(t.Context(), deploymentIn(slow), client.DryRunAll)
		return tried.Load()
	}).ShouldNot(BeZero(), "the API server knows the webhook")

	for number := range 4 * workers {
		g.Expect(plane.client.Create(t.Context(), newCollector(slow, fmt.Sprintf("slow-%d", number)))).To(Succeed())
	}
	g.Eventually(asked.Load).Should(Equal(workers), "all workers wait")
	g.Expect(plane.client.Create(t.Context(), other)).To(Succeed())
	next <- struct{}{}
	// The webhook holds the others for longer.
	g.Eventually(func() int { return deployedRevision(t, other) }).WithTimeout(10 * time.Second).Should(Equal(1))
}

// deploymentIn returns a Deployment in a namespace that the API server accepts.
func deploymentIn(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "any"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}},
			},
		},
	}
}
