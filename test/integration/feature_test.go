package integration

import (
	"encoding/json"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/helm-charts/collector/ci"
)

// Each of the chart's cases is a Collector here: they cover all that the chart can do.
func TestEveryFeatureIsInstalledThenLeftAloneThenRemoved(t *testing.T) {
	t.Parallel()
	cases, err := ci.Cases("helm-charts/collector/ci")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollectorOf(t, values)
			before := names(contents(t, collector.Namespace))
			if collector.Spec.Check == nil {
				create(t, collector)
			} else {
				createChecked(t, collector)
			}
			if collector.Spec.Flow != nil { // the first sample comes a period later
				NewWithT(t).Eventually(func() string { return condition(t, collector, v1alpha1.DataFlowing).Reason }).Should(Equal("Unreachable"))
			}

			g := NewWithT(t)
			if condition(t, collector, v1alpha1.PresetsReady).Reason == v1alpha1.ReasonRoleMissing { // the last event of the first status
				g.Eventually(func() []string { return told(t, collector, " RoleMissing: ") }).ShouldNot(BeEmpty())
			}
			since := plane.audit.mark(t)
			touch(t, collector)
			touch(t, collector)
			g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty(), "writes of a reconcile of an unchanged Collector")

			// Somebody's own field is no drift, even where a field of the Collector's is stored in another form than it was given in.
			for _, object := range contents(t, collector.Namespace, client.HasLabels{collectorLabel}) {
				annotations := map[string]string{"example.com/note": "a"}
				maps.Copy(annotations, object.GetAnnotations())
				object.SetAnnotations(annotations)
				g.Expect(plane.client.Update(t.Context(), &object)).To(Succeed())
			}
			touch(t, collector)
			touch(t, collector)
			g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty(), "writes after somebody's own annotation")

			remove(t, collector)
			g.Expect(names(contents(t, collector.Namespace))).To(Equal(before))
		})
	}
}

// newCollectorOf returns a Collector with one of the chart's cases, in a new namespace that has what it refers to.
func newCollectorOf(t *testing.T, values map[string]any) *v1alpha1.Collector {
	t.Helper()
	spec, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Configuration = nil
	if err := yaml.UnmarshalStrict(spec, &collector.Spec); err != nil {
		t.Fatal(err)
	}
	if reference := collector.Spec.Collector.ConfigurationSecret; reference != nil {
		named := createSecret(t, collector.Namespace, reference.Name, config)
		changeSecret(t, named, func(s *corev1.Secret) { s.Data[reference.Key] = []byte(config) })
	}
	return collector
}
