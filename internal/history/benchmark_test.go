package history_test

import (
	"context"
	"maps"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator"
	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/sources"
)

// accepting is an API server that accepts all that is written, and answers nothing.
type accepting struct{ client.Client }

func (accepting) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

func (accepting) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// BenchmarkInstall is what an install costs the operator beside requests: from the values of a Collector to its objects, as they
// are sent, and to its record.
func BenchmarkInstall(b *testing.B) {
	loaded, err := helm.Load(kube8.Files, "helm-charts/collector")
	if err != nil {
		b.Fatal(err)
	}
	loaded.Schema = nil // as in the operator: the API server has checked the values
	chart, err := render.NewChart(loaded)
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile("../../helm-charts/collector/ci/gateway-values.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var spec helm.Values
	if err := yaml.Unmarshal(text, &spec); err != nil {
		b.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range chart.Kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	source := &history.Source{
		Chart: chart, Mapper: mapper,
		Served: func(context.Context) (*render.Served, error) {
			return &render.Served{Capabilities: helm.DefaultCapabilities}, nil
		},
		Configuration: func(context.Context, *unstructured.Unstructured) (none postrender.Referenced, _ error) {
			return none, nil
		},
		Bases:      func(context.Context, *unstructured.Unstructured) (sources.Bases, error) { return nil, nil },
		Versions:   func(*unstructured.Unstructured) (configuration, references string) { return "", "" },
		References: func(*unstructured.Unstructured, string) (string, []string) { return "", nil },
	}
	collector := &unstructured.Unstructured{Object: map[string]any{"spec": spec.AsMap()}}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	collector.SetNamespace("acme")
	collector.SetName("gateway")
	collector.SetUID("a-b-c")
	cluster := apply.NewCluster(accepting{}, nil, collector)
	bare := &helm.Chart{Metadata: loaded.Metadata}
	b.ReportAllocs()
	for b.Loop() {
		values, err := helm.Coalesce(bare, maps.Clone(spec)) // as the stock reconciler does
		if err != nil {
			b.Fatal(err)
		}
		made, err := source.Render(b.Context(), collector, values, "")
		if err != nil {
			b.Fatal(err)
		}
		for _, object := range made.Objects {
			if _, err := cluster.Apply(b.Context(), apply.Request{Ref: object.Ref, Content: object.Content}); err != nil {
				b.Fatal(err)
			}
		}
		records := history.Records{Cluster: accepting{}, Collector: collector, Chart: loaded, Limit: 10}
		begun, err := records.Begin(b.Context(), made.Content())
		if err != nil {
			b.Fatal(err)
		}
		records.Accept(b.Context(), begun)
	}
}
