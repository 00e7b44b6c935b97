package operator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"

	"github.com/kube8/kube8-operator/internal/helm"
)

func TestTheBinaryEmbedsTheWatchesAndChartOfTheRepository(t *testing.T) {
	fromDisk, err := LoadWatches(Options{WatchesFile: "../../watches.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // nothing is beside the binary
	embedded, err := LoadWatches(Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Raw has the files that Helm makes the rest of, values.schema.json and the like among them.
	ignored := cmp.Options{
		cmpopts.IgnoreFields(watches.Watch{}, "ChartPath"), cmpopts.IgnoreFields(helm.Chart{}, "Raw"), cmpopts.IgnoreUnexported(helm.Chart{}),
	}
	if diff := cmp.Diff(fromDisk, embedded, ignored); diff != "" {
		t.Errorf("the embedded watches differ from those on disk; does embed.go name all files? (-disk +embedded)\n%s", diff)
	}
}

func TestPodsGetTheStampForACanaryWhereTheOperatorHasOneForItsOwnChanges(t *testing.T) {
	for _, isAsked := range []bool{true, false} {
		loaded, err := LoadWatches(Options{RolloutCanary: isAsked})
		if err != nil {
			t.Fatal(err)
		}
		if _, has := loaded[0].Chart.Values["canary"]; has != isAsked {
			t.Errorf("with --rollout-canary=%t, the chart has a canary by default: %t", isAsked, has)
		}
		if _, has := loaded[0].Chart.Values["mode"]; !has {
			t.Error("the chart's own defaults are gone")
		}
	}
}

func TestAWatchesFileNamesChartsByPath(t *testing.T) {
	chartFolder, err := filepath.Abs("../../helm-charts/collector")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ file, chart, fails string }{
		"relative to the file's folder, not to the working directory": {file: "watches.yaml", chart: "charts/collector"},
		"above the file's folder":                                     {file: "config/watches.yaml", chart: "../charts/collector"},
		"absolute":                                                    {file: "watches.yaml", chart: chartFolder},
		"a path that leads nowhere":                                   {file: "watches.yaml", chart: "charts/none", fails: "invalid chart"},
		"a file that is not there":                                    {file: "none.yaml", fails: "see --watches-file: open "},
		"a file that is not a list at all":                            {file: "object.yaml", chart: "charts/collector", fails: "not a list of watches"},
		"a path from the repository's root":                           {file: "watches.yaml", chart: "helm-charts/collector", fails: "invalid chart"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "charts/collector"), os.DirFS(chartFolder)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, test.file)
			text := "- {group: kube8.dev, version: v1alpha1, kind: Collector, reconcilePeriod: 1m, chart: " + test.chart + "}\n"
			if test.file == "object.yaml" {
				text = strings.TrimPrefix(text, "- ")
			}
			if test.chart != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			loaded, err := LoadWatches(Options{WatchesFile: path})
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("want an error with %q, got %v", test.fails, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(loaded) != 1 || loaded[0].Chart.Name() != "collector" || loaded[0].ReconcilePeriod.Minutes() != 1 || loaded[0].Kind != "Collector" {
				t.Errorf("got %+v", loaded)
			}
		})
	}
}

func TestTheRegistryOfCollectorsIsOne(t *testing.T) {
	for registry, isOne := range map[string]bool{
		"": true, "mirror.example": true, "mirror.example:5000/otel/": true, "ghcr.io/open-telemetry/releases": true,
		"https://mirror.example": false, "Mirror.example": false, "mirror.example/a b": false, "/mirror": false,
	} {
		if _, err := LoadWatches(Options{CollectorRegistry: registry}); (err == nil) != isOne {
			t.Errorf("--collector-registry=%s: %v", registry, err)
		}
	}
	for _, file := range []string{"api/v1alpha1/workload_types.go", "helm-charts/kube8-operator/values.schema.json"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil || !strings.Contains(string(text), registries.String()) {
			t.Errorf("%s has another pattern of registries than %s (%v)", file, registries, err)
		}
	}
}
