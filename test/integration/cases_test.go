package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/helm-charts/collector/ci"
)

// The chart's cases are applied as `kubectl apply --server-side` does: as they stand, each null included, which the Go types drop.
func TestTheAPIServerTakesEachCaseByServerSideApply(t *testing.T) {
	t.Parallel()
	cases, err := ci.Cases("helm-charts/collector/ci")
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			collector := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
			collector.SetNamespace(namespace)
			collector.SetName(name)
			applied := client.ApplyConfigurationFromUnstructured(collector)
			NewWithT(t).Expect(strict().Apply(t.Context(), applied, client.FieldOwner("kubectl"), client.DryRunAll)).To(Succeed())
			for field, value := range spec {
				if value == nil {
					NewWithT(t).Expect(collector.Object["spec"]).To(HaveKeyWithValue(field, BeNil()), "%s: null means something", field)
				}
			}
		})
	}
}
