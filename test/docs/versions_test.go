package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// written says where the version of a vendor's collector is written, beside the samples and the cases of the chart. The group of a pattern
// is the version.
var written = map[string]map[string]string{
	"opentelemetry-collector": {
		"README.md": `version: (\d\S*)`,
		"cmd/kubectl-collector/internal/kubectl/create.go":                 `defaultVersion = "(.*?)"`,
		"config/manifests/bases/kube8-operator.clusterserviceversion.yaml": `/opentelemetry-collector:(\S+)`,
		"docs/how-to/bases.md":                   `OpenTelemetry Collector .* (\d\S+) \|`,
		"docs/how-to/clients.md":                 `version: (\d\S*)`,
		"docs/how-to/gitops.md":                  `version: (\d\S*)`,
		"examples/portal/README.md":              `"version": ?"(.*?)"`,
		"examples/portal/page/index.html":        `version: (\d\S*)`,
		"test/cluster/internal/demo/bases.yaml":  `version: (\d\S*)`,
		"test/e2e/collector/archives.sh":         `/opentelemetry-collector[-a-z0-9]*:(\S+)`,
		"test/e2e/collector/builder.yaml":        `(?m)^  version: (\S+)`,
		"test/integration/plugin_create_test.go": `Version = "(.*?)"`,
		"test/e2e/collector_test.go":             `Version: "(.*?)"`,
	},
	"alloy": {
		"docs/how-to/configuration.md":   `grafana/alloy:v([0-9.]+)`,
		"test/e2e/collector/archives.sh": `grafana/alloy:(\S+)`,
		"test/e2e/telemetry_test.go":     `grafana/alloy", "(.*?)"`,
	},
}

func TestEachCollectorHasTheSameVersionEverywhere(t *testing.T) {
	places := map[string]map[string][]string{} // by collector and version
	add := func(collector, version, place string) {
		version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-") // what follows is a variant of the image
		if places[collector] == nil {
			places[collector] = map[string][]string{}
		}
		places[collector][version] = append(places[collector][version], place)
	}
	for _, pattern := range []string{"config/samples/*_collector*.yaml", "helm-charts/collector/ci/*-values.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) < 10 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			file = strings.TrimPrefix(file, root+"/")
			collector, version := collectorOf(t, file)
			if collector == "" {
				continue
			}
			add(collector, version, file)
			compared := "helm-charts/collector/ci/compared/" + strings.TrimSuffix(path.Base(file), "-values.yaml") + ".yaml"
			if _, err := os.Stat(filepath.Join(root, compared)); err != nil {
				continue // the case is not compared with a vendor's chart
			}
			for _, match := range regexp.MustCompile(`(?m)^ +tag: (\S+)$`).FindAllStringSubmatch(readFile(t, compared), -1) {
				add(collector, match[1], compared)
			}
		}
	}
	for collector, patterns := range written {
		for file, pattern := range patterns {
			found := regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, file), -1)
			if len(found) == 0 {
				t.Errorf("%s has no version of %s: %s", file, collector, pattern)
			}
			for _, match := range found {
				add(collector, match[1], file)
			}
		}
	}
	for collector, versions := range places {
		if len(versions) > 1 {
			t.Errorf("%s has several versions; choose one for all files: %v", collector, versions)
		}
	}
}

// collectorOf returns the last part of the name of the collector in a Collector or in values, and its version. Distributions of
// OpenTelemetry count as one collector. It returns nothing for a name that only stands for one.
func collectorOf(t *testing.T, file string) (name, version string) {
	t.Helper()
	type spec struct {
		Collector struct{ Name, Version string }
		Image     struct{ Tag string }
	}
	var manifest struct {
		spec
		Spec spec
	}
	if err := yaml.Unmarshal([]byte(readFile(t, file)), &manifest); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	found := manifest.Spec
	if found.Collector.Name == "" {
		found = manifest.spec
	}
	if found.Collector.Name == "" {
		t.Fatalf("%s names no collector", file)
	}
	if strings.HasPrefix(found.Collector.Name, "registry.example.com") {
		return "", ""
	}
	if strings.HasPrefix(found.Collector.Name, "opentelemetry-collector") {
		found.Collector.Name = "opentelemetry-collector"
	}
	return path.Base(found.Collector.Name), found.Collector.Version
}
