package integration

import (
	"context"
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gate holds writes of Deployments in one namespace at the API server, for at most 30 s each. So an operator can be
// found in the middle of an install or an upgrade: some objects are written, and the rest is not.
type gate struct {
	arrived chan struct{} // has something while writes are held

	mutex  sync.Mutex
	opened chan struct{} // closed while the gate is open
}

// newGate returns a gate in a namespace. It is closed.
func newGate(t *testing.T, namespace string) *gate {
	t.Helper()
	g := &gate{arrived: make(chan struct{}, 1), opened: make(chan struct{})}
	probed := make(chan struct{}, 1)
	config := serveReviews(t, func(r *http.Request, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if *request.DryRun {
			offer(probed)
		} else {
			offer(g.arrived)
			select {
			case <-g.isOpen():
			case <-r.Context().Done():
			}
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	name := metav1.ObjectMeta{Name: namespace}
	hook := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: name, Webhooks: []registrationv1.ValidatingWebhook{{
		Name:              "gate.example.com",
		ClientConfig:      config,
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		Rules: []registrationv1.RuleWithOperations{{
			Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
			Rule:       registrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}},
		FailurePolicy:           new(registrationv1.Ignore),
		SideEffects:             new(registrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(30)),
		AdmissionReviewVersions: []string{"v1"},
	}}}
	if err := plane.client.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.open()
		if err := plane.client.Delete(context.Background(), hook); err != nil {
			t.Error(err)
		}
	})

	selected := map[string]string{"probe": "gate"}
	probe := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selected},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selected},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "example.com/probe"}}},
			},
		},
	}
	NewWithT(t).Eventually(func(inner Gomega) {
		inner.Expect(plane.client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)).To(Succeed())
		inner.Expect(probed).To(Receive())
	}).Should(Succeed())
	return g
}

// offer puts something into a channel that has none.
func offer(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// await waits until a write is held.
func (g *gate) await(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(g.arrived).Should(Receive(), "a Deployment is being written")
}

// open lets all writes pass, those that are held and those to come.
func (g *gate) open() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

// shut holds the writes to come.
func (g *gate) shut() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.opened = make(chan struct{})
	select {
	case <-g.arrived: // while it was open
	default:
	}
}

func (g *gate) isOpen() <-chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.opened
}
