package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
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

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// serveReviews starts a server that answers each review until the test ends. Its configuration is for the API server.
func serveReviews(
	t *testing.T, answer func(*http.Request, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse,
) registrationv1.WebhookClientConfig {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Log(err) // the API server gives a review up when its own client has gone
			return
		}
		review := &admissionv1.AdmissionReview{}
		if err := json.Unmarshal(body, review); err != nil {
			t.Error(err)
			return
		}
		review.Response = answer(r, review.Request)
		review.Response.UID = review.Request.UID
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(server.Close)
	return registrationv1.WebhookClientConfig{
		URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// answerReviews serves reviews of which only the request counts.
func answerReviews(
	t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse,
) registrationv1.WebhookClientConfig {
	t.Helper()
	return serveReviews(t, func(_ *http.Request, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return answer(request)
	})
}

// startWebhook starts a server that answers each review with a JSON patch or, if that is nil, with a refusal.
func startWebhook(t *testing.T, answer func() []byte) registrationv1.WebhookClientConfig {
	t.Helper()
	return answerReviews(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		patch := answer()
		response := &admissionv1.AdmissionResponse{Allowed: patch != nil}
		if len(patch) > 0 {
			response.Patch, response.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
		}
		return response
	})
}

var writesOfDeployments = []registrationv1.RuleWithOperations{{
	Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
	Rule:       registrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
}}

// mutate has a webhook patch each write of a Deployment in a namespace.
func mutate(t *testing.T, namespace string, answer func() []byte) {
	t.Helper()
	register(t, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "mutate-" + namespace},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "mutate.example.com", ClientConfig: startWebhook(t, answer), Rules: writesOfDeployments,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

// validate has a webhook allow or refuse each write of a Deployment in a namespace.
func validate(t *testing.T, namespace string, allow func() bool) {
	t.Helper()
	answer := func() []byte {
		if allow() {
			return []byte{}
		}
		return nil
	}
	validateBy(t, namespace, startWebhook(t, answer))
}

// validateBy has a server validate each write of a Deployment in a namespace.
func validateBy(t *testing.T, namespace string, server registrationv1.WebhookClientConfig) {
	t.Helper()
	register(t, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validate-" + namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: server, Rules: writesOfDeployments, TimeoutSeconds: new(int32(30)), // the longest
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
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

// register creates the configuration of a webhook, and deletes it before its server stops.
func register(t *testing.T, configuration client.Object) {
	t.Helper()
	if err := plane.client.Create(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.client.Delete(context.Background(), configuration); err != nil {
			t.Error(err)
		}
	})
}

const mutation = `[
	{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mirror.example.com/collector:1"},
	{"op": "add", "path": "/spec/template/spec/tolerations", "value": [{"key": "tenant", "operator": "Exists"}]}]`

func TestAMutatingWebhookMakesNoLoop(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	var asked atomic.Int64
	mutate(t, collector.Namespace, func() []byte { asked.Add(1); return []byte(mutation) })
	g := NewWithT(t)
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, collector, 1)
	image := func() string {
		return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image
	}
	if image() != "mirror.example.com/collector:1" { // the webhook was not known yet
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
		g.Eventually(image).Should(Equal("mirror.example.com/collector:1"))
	}
	settled(t, collector)
	calls, requests := asked.Load(), plane.audit.mark(t)
	g.Consistently(asked.Load, 5*time.Second).Should(Equal(calls), "writes of the Deployment")
	g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())
	g.Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring("DriftRepaired")))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(2)) })
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
}

func TestAValidatingWebhookThatFlapsIsOutlasted(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	var asked, refused atomic.Int64
	validate(t, collector.Namespace, func() bool {
		allowed := asked.Add(1)%3 != 0 // two writes in a row pass: a change is tried before it is done
		if !allowed {
			refused.Add(1)
		}
		return allowed
	})
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, collector, 1)
	awaitTold(t, collector)
	for revision := 2; revision < 5; revision++ { // the webhook may not have been known to the first
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version += "0" })
		awaitRevision(t, collector, revision)
		awaitTold(t, collector)
	}
	g := NewWithT(t)
	g.Expect(refused.Load()).To(BeNumerically(">=", 2))
	g.Expect(revisions(t, collector)).To(HaveLen(4), "a refusal is no revision")
}

func TestAControllerThatFightsForAFieldIsNamed(t *testing.T) {
	t.Parallel()
	collector := install(t)
	stop := make(chan struct{})
	fighting := make(chan struct{})
	go func() {
		defer close(fighting)
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
			}
			deployment := &appsv1.Deployment{}
			if plane.client.Get(context.Background(), client.ObjectKeyFromObject(collector), deployment) != nil || *deployment.Spec.Replicas == 5 {
				continue
			}
			deployment.Spec.Replicas = new(int32(5))
			_ = plane.client.Update(context.Background(), deployment, client.FieldOwner("rival")) // again, if it fails
		}
	}()
	g := NewWithT(t)
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(
		ContainSubstring(`rival changes Deployment "gateway" again and again`))
	requests := plane.audit.mark(t)
	g.Consistently(func() int { return len(plane.audit.writes(t, requests, collector.Namespace)) }, 8*time.Second).Should(BeNumerically("<", 25))
	close(stop)
	<-fighting
	g.Eventually(func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }).WithTimeout(time.Minute).Should(BeEquivalentTo(1))
}
