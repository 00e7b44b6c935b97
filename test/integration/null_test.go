package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// withNulls returns the valid manifest with null for fields of its spec; patched cannot, for it would remove them.
func withNulls(t *testing.T, namespace, patch string, fields ...string) *unstructured.Unstructured {
	t.Helper()
	collector := object(t, patched(t, patch))
	collector.SetNamespace(namespace)
	for _, field := range fields {
		if err := unstructured.SetNestedField(collector.Object, nil, "spec", field); err != nil {
			t.Fatal(err)
		}
	}
	return collector
}

func TestNullUnsetsADefault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	given := withNulls(t, newNamespace(t), `{}`, "podSecurityContext", "securityContext")
	g.Expect(strict().Create(t.Context(), given)).To(Succeed())
	g.Expect(given.Object["spec"]).To(And(HaveKeyWithValue("podSecurityContext", BeNil()), HaveKeyWithValue("securityContext", BeNil())))

	collector := &v1alpha1.Collector{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(given), collector)).To(Succeed())
	awaitRevision(t, collector, 1)
	pod := get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec
	g.Expect(pod.SecurityContext).To(Equal(&corev1.PodSecurityContext{}), "that of the pod")
	g.Expect(pod.Containers[0].SecurityContext).To(BeNil(), "that of the container")
}

// tryNulls needs clusterLimits in force.
func (p *tenancyPlane) tryNulls(t *testing.T) {
	t.Helper()
	for field, refusal := range map[string]string{
		"securityContext":    refused("spec.securityContext", "null", "privileges"),
		"podSecurityContext": refused("spec.podSecurityContext", "null", "privileges"),
		"nodeSelector":       "",
	} {
		err := p.client.Create(t.Context(), withNulls(t, "acme", withinLimits, field), client.DryRunAll)
		expectDenied(NewWithT(t), err, limitsPolicy, refusal)
	}
}
