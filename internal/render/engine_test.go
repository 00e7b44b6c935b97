package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/helm"
)

// inputOf returns what templates are rendered with, for the values of a Collector.
func inputOf(t *testing.T, c *Chart, values map[string]any) (helm.Values, error) {
	t.Helper()
	served := &Served{Capabilities: helm.DefaultCapabilities}
	input, err := helm.Input(c.Chart, types.NamespacedName{Namespace: "acme", Name: "gateway"}, values,
		served.With(slices.Collect(maps.Keys(c.Optional))))
	if err != nil {
		return nil, err
	}
	if err := configuration.Prepare(input["Values"].(helm.Values)); err != nil {
		return nil, err
	}
	return input, nil
}

// TestTemplatesThatAreParsedOnceRenderAsHelmsEngineDoes compares them for each case of the chart, and for 3,000 Collectors that have fields
// of several cases.
func TestTemplatesThatAreParsedOnceRenderAsHelmsEngineDoes(t *testing.T) {
	c := collectorsChart(t)
	if c.templates == nil {
		t.Fatal("the chart needs Helm's engine")
	}
	files, err := filepath.Glob("../../helm-charts/collector/ci/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases:", err)
	}
	var cases []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(text, &values); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, values)
	}
	rendered, refused, nodes, sure := 0, 0, 0, 0
	compare := func(name string, values map[string]any) {
		input, err := inputOf(t, c, runtime.DeepCopyJSON(values)) // rendering may write to it
		if err != nil {
			return // neither engine gets to see it
		}
		got, failed := c.templates.render(c.Chart, input)
		input, _ = inputOf(t, c, values)
		want, err := helm.Execute(c.Chart, input)
		switch {
		case (err == nil) != (failed == nil):
			t.Errorf("%s: error %v, want %v", name, failed, err)
		case err != nil:
			refused++
		default:
			rendered++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-Helm's +got):\n%s", name, diff)
			}
			texts := slices.Sorted(maps.Values(got))
			parsed, found := compareNodes(t, name, "Secret/a=0123456789", "---\n"+strings.Join(texts, "\n---\n"))
			nodes, sure = nodes+parsed, sure+found
		}
	}
	for i, file := range files {
		compare(file, runtime.DeepCopyJSON(cases[i]))
	}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		mixed := maps.Clone(cases[random.IntN(len(cases))])
		for range 4 {
			other := cases[random.IntN(len(cases))]
			field := slices.Sorted(maps.Keys(other))[random.IntN(len(other))]
			mixed[field] = other[field]
		}
		compare(fmt.Sprint("seed ", seed), runtime.DeepCopyJSON(mixed))
	}
	if rendered < 1500 || refused < 100 {
		t.Errorf("%d were rendered, and %d refused", rendered, refused)
	}
	if sure*10 < nodes*9 {
		t.Errorf("only %d of %d objects that the post-renderer has parsed are not parsed again", sure, nodes)
	}
}

func TestChartsThatNeedHelmsEngineHaveIt(t *testing.T) {
	for name, row := range map[string]struct {
		template string
		isOwn    bool
	}{
		"a chart as ours":           {`a: {{ include "b" . }}{{ define "b" }}{{ .Chart.Name }}{{ end }}`, true},
		"with templates in values":  {`a: {{ tpl "b" . }}`, false},
		"that looks into a cluster": {`a: {{ lookup "v1" "Pod" "" "" }}`, false},
		"with files":                {`a: {{ .Files.Get "b" }}`, false},
	} {
		c, err := NewChart(chartOf(row.template))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.templates != nil; got != row.isOwn {
			t.Errorf("%s: %t", name, got)
		}
		if _, err := c.files(helm.Values{"Values": map[string]any{}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	parent := chartOf("a: b")
	parent.AddDependency(&helm.Chart{Metadata: &helm.Metadata{Name: "child"}})
	if parseTemplates(parent) != nil {
		t.Error("a chart of charts")
	}
}

func TestATemplateThatIncludesItselfEnds(t *testing.T) {
	c, err := NewChart(chartOf(`a: {{ include "b" . }}{{ define "b" }}{{ include "b" . }}{{ end }}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.files(helm.Values{}); err == nil || !strings.Contains(err.Error(), "nested reference name: b") {
			t.Errorf("error %v, want Helm's", err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	c := collectorsChart(b)
	text, err := os.ReadFile("../../helm-charts/collector/ci/vmagent-values.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		b.Fatal(err)
	}
	input, err := helm.Input(c.Chart, types.NamespacedName{Namespace: "acme", Name: "gateway"}, values, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, render := range map[string]func() (map[string]string, error){
		"helm": func() (map[string]string, error) { return helm.Execute(c.Chart, input) },
		"own":  func() (map[string]string, error) { return c.templates.render(c.Chart, input) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := render(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
