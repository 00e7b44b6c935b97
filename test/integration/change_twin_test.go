package integration

import (
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// TestACollectorThatWasChangedBecomesWhatANewOneWouldBe compares it with a Collector that has had the last spec from the beginning.
// Most changes here are of fields of which a server-side apply has to take away what the API server has added.
func TestACollectorThatWasChangedBecomesWhatANewOneWouldBe(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("test/integration/testdata/changes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var changes map[string][]runtime.RawExtension
	if err := yaml.UnmarshalStrict(text, &changes); err != nil {
		t.Fatal(err)
	}
	for name, specs := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			for _, spec := range specs {
				patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": `+string(spec.Raw)+`}`))
				if err := plane.client.Patch(t.Context(), collector, patch); err != nil {
					t.Fatal(err)
				}
				NewWithT(t).Eventually(func(g Gomega) {
					now := get(t, collector, "", &v1alpha1.Collector{})
					g.Expect(now.Status.DeployedRelease).To(HaveValue(HaveField("Generation", now.Generation)), condition(t, collector, "Ready").Message)
				}).Should(Succeed(), "%s", spec.Raw)
			}
			twin := newCollector(newNamespace(t), collector.Name)
			twin.Spec = get(t, collector, "", &v1alpha1.Collector{}).Spec
			create(t, twin)
			NewWithT(t).Eventually(func() map[string]map[string]any {
				serveAll(t, collector.Namespace)
				return specsOf(t, collector.Namespace)
			}).Should(Equal(specsOf(t, twin.Namespace)))
		})
	}
}

// specsOf returns the specs of what the operator has made in a namespace, without what the API server allocates.
func specsOf(t *testing.T, namespace string) map[string]map[string]any {
	t.Helper()
	specs := map[string]map[string]any{}
	for name, object := range contents(t, namespace, client.HasLabels{collectorLabel}) {
		if slices.Contains([]string{"Secret", "ServiceAccount"}, object.GetKind()) {
			continue // they have no spec
		}
		spec, _, err := unstructured.NestedMap(object.Object, "spec")
		if err != nil {
			t.Fatal(err)
		}
		if address := spec["clusterIP"]; address != "None" {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		delete(spec, "healthCheckNodePort")
		if ports, isService := spec["ports"].([]any); isService {
			for _, port := range ports {
				if port := port.(map[string]any); port["nodePort"] != nil {
					port["nodePort"] = "some"
				}
			}
		}
		specs[name] = spec
	}
	return specs
}
