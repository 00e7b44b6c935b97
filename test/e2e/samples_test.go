//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 10.

func TestTheSamplesBecomeReady(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("config/samples/kube8_v1alpha1_collector*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("the samples: found %q, %v", files, err)
	}
	samples := map[string]*v1alpha1.Collector{}
	for _, file := range files {
		sample := readSample(t, file)
		samples[sample.Name] = sample
	}

	t.Cleanup(func() {
		for _, sample := range samples {
			if t.Failed() {
				dump(t, sample.Namespace)
			}
			removeCollectors(t, sample.Namespace)
		}
		if out, err := kubectl(context.Background(), "delete", "-k", "config/samples", "--ignore-not-found"); err != nil {
			t.Errorf("delete the samples: %v\n%s", err, out)
		}
	})
	prepareNode(t)
	if out, err := kubectl(t.Context(), "apply", "--server-side", "-k", "config/samples"); err != nil {
		t.Fatalf("apply the samples: %v\n%s", err, out)
	}
	for _, sample := range samples {
		awaitReady(t, sample)
	}
	t.Run("and the edge's own metrics reach the gateway", func(t *testing.T) {
		awaitPrinted(t, samples["gateway"], `"otelcol.signal": "metrics"`)
	})
}

func readSample(t *testing.T, file string) *v1alpha1.Collector {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sample := &v1alpha1.Collector{}
	if err := yaml.UnmarshalStrict(text, sample); err != nil {
		t.Fatal(err)
	}
	return sample
}
