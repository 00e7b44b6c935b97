// Package tests checks the chart: what it renders for given values, and what it refuses.
package tests

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/helm-charts/collector/ci"
	templates "github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/test/golden"
)

const chartDir = ".."

var monitoring = []string{
	"monitoring.coreos.com/v1",
	"monitoring.coreos.com/v1/ServiceMonitor",
	"monitoring.coreos.com/v1/PodMonitor",
	"monitoring.coreos.com/v1/PrometheusRule",
}

// all are the APIs that the chart tests for.
var all = append(slices.Clone(monitoring), "keda.sh/v1alpha1/ScaledObject", "autoscaling.k8s.io/v1/VerticalPodAutoscaler",
	"gateway.networking.k8s.io/v1/HTTPRoute", "gateway.networking.k8s.io/v1/GRPCRoute")

// render does what the operator does before the post-renderer, on a cluster that also has the given APIs.
func render(t *testing.T, release string, values map[string]any, apis ...string) (string, error) {
	t.Helper()
	loaded, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := templates.NewChart(loaded)
	if err != nil {
		t.Fatal(err)
	}
	served := chartutil.DefaultCapabilities.Copy()
	served.APIVersions = append(served.APIVersions, apis...)
	return chart.Template(types.NamespacedName{Namespace: "tenant-acme", Name: release}, values, served)
}

// object is the part that all rendered objects share, and the pod template of those that have one.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	raw string
}

func objects(t *testing.T, manifest string) []object {
	t.Helper()
	var found []object
	for doc := range strings.SplitSeq(manifest, "---\n") {
		o := object{raw: doc}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if o.Kind == "" {
			continue // only comments
		}
		found = append(found, o)
	}
	return found
}

// deployment renders the smallest values with others over them, and returns the Deployment that comes out.
func deployment(t *testing.T, over string) appsv1.Deployment {
	t.Helper()
	manifest, err := render(t, "edge", smallest(t, over))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	for _, o := range objects(t, manifest) {
		if o.Kind == "Deployment" {
			if err := yaml.UnmarshalStrict([]byte(o.raw), &d); err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatal("no Deployment")
	return d
}

func smallest(t *testing.T, over string) map[string]any {
	t.Helper()
	const least = `{collector: {name: c, version: 1.0.0, configuration: e30=}, tenant: {id: t, reference: r}, cluster: k}`
	base, err := chartutil.ReadValues([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ReadValues([]byte(over))
	if err != nil {
		t.Fatal(err)
	}
	return chartutil.CoalesceTables(values, base)
}

func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	found, err := ci.Cases(chartDir + "/ci")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestGolden(t *testing.T) {
	for name, values := range cases(t) {
		t.Run(name, func(t *testing.T) { checkGolden(t, name, values) })
	}
}

func checkGolden(t *testing.T, name string, values map[string]any) {
	t.Helper()
	got, err := render(t, name, values, all...)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := render(t, name, values, all...); err != nil || again != got {
		t.Errorf("rendered twice, it differs (error: %v)", err)
	}
	golden.Compare(t, filepath.Join(chartDir, "ci", "golden", name+".yaml"), got, "./helm-charts/collector/tests")
}

func TestGoldenFilesAndConfigurationsHaveACase(t *testing.T) {
	files, err := filepath.Glob(chartDir + "/ci/*/*")
	if err != nil {
		t.Fatal(err)
	}
	known := cases(t)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if name == "golden" || name == "compared" {
			name = strings.TrimSuffix(filepath.Base(file), ".yaml")
		}
		if known[name] == nil {
			t.Errorf("%s is left over: there is no ci/%s-values.yaml", file, name)
		}
	}
}

func TestValuesAreTheCollectorsSpec(t *testing.T) {
	files, err := filepath.Glob(chartDir + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, chartDir+"/values.yaml") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(content, &v1alpha1.CollectorSpec{}); err != nil {
			t.Errorf("%s does not fit api/v1alpha1.CollectorSpec: %v", file, err)
		}
	}
}

func TestTemplatesAreDeterministicAndKeepToTheirValues(t *testing.T) {
	forbidden := regexp.MustCompile(`\b(tpl|lookup|now|date|rand\w*|gen[A-Z]\w*|uuidv4|getHostByName|env|expandenv)\b`)
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	harmless := regexp.MustCompile(`(?s)"(\\.|[^"\\])*"|/\*.*?\*/|\$?\.?[.\w]*\.\w+|\$\w+`)
	files, err := filepath.Glob(chartDir + "/templates/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range action.FindAllString(string(content), -1) {
			if word := forbidden.FindString(harmless.ReplaceAllString(text, "")); word != "" {
				t.Errorf("%s uses %s: %s", file, word, text)
			}
		}
	}
}

// The operator records a release without the templates; `helm install` stores them with each.
func TestWhatHelmStoresOfTheChartStaysSmall(t *testing.T) {
	loaded, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := templates.NewChart(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range chart.Files {
		t.Errorf("%s would be stored in every release; add it to .helmignore", file.Name)
	}
	chart.Schema = nil
	encoded, err := json.Marshal(chart)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(encoded); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, gzip'd, without the schema", packed.Len())
	if limit := 24 << 10; packed.Len() > limit {
		t.Errorf("the chart takes %d bytes of every release; keep it under %d", packed.Len(), limit)
	}
}
