package integration

import (
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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
			stored := list(t, collector.Namespace, "kube8.dev/v1alpha1", "Collector")[0] // as it is: the Go types add empty fields
			again := &unstructured.Unstructured{Object: map[string]any{"spec": stored.Object["spec"]}}
			again.SetGroupVersionKind(stored.GroupVersionKind())
			again.SetNamespace(twin.Namespace)
			again.SetName(twin.Name)
			if err := plane.client.Create(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			awaitRevision(t, twin, 1)
			awaitTold(t, twin)
			NewWithT(t).Eventually(func() string {
				serveAll(t, collector.Namespace)
				return gocmp.Diff(likeness(t, twin), likeness(t, collector))
			}).Should(BeEmpty())
		})
	}
}
