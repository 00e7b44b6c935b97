package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const samplesDir = "../../../config/samples"

func TestSamples(t *testing.T) {
	namespaces := read(t, "namespaces.yaml")
	files, err := filepath.Glob(samplesDir + "/kube8_v1alpha1_collector*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			content := read(t, name)
			if story, _, _ := strings.Cut(content, "apiVersion:"); strings.Count(story, "\n") != 3 {
				t.Error("not told in three lines of comment")
			}
			var collector v1alpha1.Collector
			if err := yaml.UnmarshalStrict([]byte(content), &collector); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(namespaces, "\n  name: "+collector.Namespace+"\n") {
				t.Errorf("namespace %q is not in namespaces.yaml", collector.Namespace)
			}
			var document struct{ Spec map[string]any }
			if err := yaml.Unmarshal([]byte(content), &document); err != nil {
				t.Fatal(err)
			}
			if _, err := render(t, collector.Name, document.Spec); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKustomizationListsEverySample(t *testing.T) {
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal([]byte(read(t, "kustomization.yaml")), &kustomization); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(samplesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); name != "kustomization.yaml" && !slices.Contains(kustomization.Resources, name) {
			t.Errorf("%s is not in kustomization.yaml", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(samplesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
