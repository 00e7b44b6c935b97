//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scenario 6.

// asking is a configuration that prints, with each span, the Authorization header with which it came.
const asking = `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318", include_metadata: true}}}}
processors:
  attributes: {actions: [{key: came.with, from_context: metadata.authorization, action: insert}]}
exporters: {debug: {verbosity: detailed}}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], processors: [attributes], exporters: [debug]}}
`

// telling is a configuration that takes everything that is not the same for each tenant from its environment. The
// collector reads the tenant's id as a number, since it is all digits.
const telling = `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}}}}
processors:
  resource:
    attributes:
    - {key: tenant.id, value: "${env:TENANT_ID}", action: upsert}
    - {key: tenant.id, action: convert, converted_type: string}
    - {key: tenant.reference, value: "${env:TENANT_REFERENCE}", action: upsert}
    - {key: k8s.cluster.name, value: "${env:CLUSTER_NAME}", action: upsert}
exporters:
  otlp_http:
    endpoint: "${env:INGEST_ENDPOINT}"
    headers: {authorization: "Bearer ${env:INGEST_TOKEN}"}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], processors: [resource], exporters: [otlp_http]}}
`

func TestCredentialsTenantAndClusterComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	gateway := newCollector(namespace, "gateway", asking)
	create(t, gateway)
	awaitReady(t, gateway)

	metadata := metav1.ObjectMeta{Namespace: namespace, Name: "ingest"}
	create(t, &corev1.Secret{ObjectMeta: metadata, StringData: map[string]string{"token": "the-token-of-acme"}})
	create(t, &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{
		"INGEST_ENDPOINT": serviceURL(t, gateway),
	}})
	ingest := corev1.LocalObjectReference{Name: "ingest"}
	edge := newCollector(namespace, "edge", telling)
	edge.Spec.Env = []corev1.EnvVar{{Name: "INGEST_TOKEN", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ingest, Key: "token"},
	}}}
	edge.Spec.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ingest}}}
	create(t, edge)
	awaitReady(t, edge)

	g := NewWithT(t)
	g.Eventually(func() error { return send(t.Context(), edge, "a-span-with-credentials") }).Should(Succeed())
	printed := awaitPrinted(t, gateway, "a-span-with-credentials")
	for _, want := range []string{
		`came.with: .*Bearer the-token-of-acme`,
		`tenant.id: Str\(1042\)`, `tenant.reference: Str\(acme\)`, `k8s.cluster.name: Str\(prod-eu-1\)`,
	} {
		g.Expect(printed).To(MatchRegexp(want))
	}
}
