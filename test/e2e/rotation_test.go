//go:build e2e

package e2e

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// TestACredentialIsRotatedWithoutAFailedRequest has a backend that takes the old and the new token, as one does in the middle
// of a rotation, and prints which one came.
func TestACredentialIsRotatedWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	backend := newCollector(namespace, "backend", asking)
	create(t, backend)
	awaitReady(t, backend)

	ingest := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ingest", Labels: map[string]string{v1alpha1.CollectorLabel: "edge"}},
		StringData: map[string]string{"token": "the-old-token"},
	}
	create(t, ingest)
	// A request to the edge fails when the one to the backend does.
	edge := newCollector(namespace, "edge", strings.Replace(telling, "    headers:",
		"    retry_on_failure: {enabled: false}\n    sending_queue: {enabled: false}\n    headers:", 1))
	edge.Spec.Replicas = new(int32(2))
	edge.Spec.Env = []corev1.EnvVar{
		{Name: "INGEST_ENDPOINT", Value: serviceURL(t, backend)},
		{Name: "INGEST_TOKEN", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "ingest"}, Key: "token"},
		}},
	}
	create(t, edge)
	awaitReady(t, edge)
	old := podsOf(t, edge)
	steady := newClient(t, edge)
	g := NewWithT(t)
	g.Eventually(func() error { return send(t.Context(), edge, "before-the-rotation") }).Should(Succeed())
	g.Expect(awaitPrinted(t, backend, "before-the-rotation")).To(ContainSubstring("Bearer the-old-token"))

	steady.start(t)
	steady.awaitMore(t, 50)
	rotated := client.RawPatch("application/merge-patch+json", []byte(`{"stringData": {"token": "the-new-token"}}`))
	if err := cluster.Patch(t.Context(), ingest, rotated); err != nil {
		t.Fatal(err)
	}
	for _, pod := range old {
		awaitGone(t, &pod)
	}
	awaitReady(t, edge)
	steady.awaitMore(t, 50)
	sent, failures := steady.stop()
	g.Expect(failures).To(BeEmpty(), "failures among %d requests", sent)
	g.Expect(podsOf(t, edge)).To(HaveLen(2))
	g.Eventually(func() error { return send(t.Context(), edge, "after-the-rotation") }).Should(Succeed())
	printed := awaitPrinted(t, backend, "after-the-rotation")
	g.Expect(printed[strings.LastIndex(printed, "Bearer "):]).To(HavePrefix("Bearer the-new-token"))
}
