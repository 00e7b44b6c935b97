package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// Each of the chart's example values is a Collector here: they cover all that the chart can do.
func TestEveryFeatureIsInstalledThenLeftAloneThenRemoved(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("helm-charts/collector/ci/*-values.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("the chart's example values: found %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), "-values.yaml"), func(t *testing.T) {
			t.Parallel()
			values, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Collector.Configuration = nil
			if err := yaml.UnmarshalStrict(values, &collector.Spec); err != nil {
				t.Fatal(err)
			}
			if reference := collector.Spec.Collector.ConfigurationSecret; reference != nil {
				createSecret(t, collector.Namespace, reference.Name, config)
			}
			before := names(contents(t, collector.Namespace))
			create(t, collector)

			since := plane.audit.mark(t)
			touch(t, collector)
			touch(t, collector)
			g := NewWithT(t)
			g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty(), "writes of a pass over an unchanged Collector")

			remove(t, collector)
			g.Expect(names(contents(t, collector.Namespace))).To(Equal(before))
		})
	}
}
