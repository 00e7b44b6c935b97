package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// collectorsChart returns the operator's own chart.
func collectorsChart(tb testing.TB) *Chart {
	tb.Helper()
	loaded, err := helm.Load(kube8.Files, "helm-charts/collector")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := NewChart(loaded)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestTheKindsOfTheCollectorsChart(t *testing.T) {
	c := collectorsChart(t)
	var kinds, served []string
	for _, kind := range c.Kinds {
		kinds = append(kinds, kind.Kind)
	}
	for name := range c.Optional {
		served = append(served, name)
	}
	slices.Sort(kinds)
	slices.Sort(served)
	if diff := cmp.Diff([]string{
		"DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job", "NetworkPolicy", "PersistentVolumeClaim",
		"PodDisruptionBudget", "Secret", "Service", "ServiceAccount", "StatefulSet",
	}, kinds); diff != "" {
		t.Errorf("kinds that every cluster has (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"autoscaling.k8s.io/v1/VerticalPodAutoscaler", "gateway.networking.k8s.io/v1/GRPCRoute", "gateway.networking.k8s.io/v1/HTTPRoute",
		"keda.sh/v1alpha1/ScaledObject",
		"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule", "monitoring.coreos.com/v1/ServiceMonitor",
	}, served); diff != "" {
		t.Errorf("kinds that the chart tests for (-want +got):\n%s", diff)
	}
}

func chartOf(templates ...string) *helm.Chart {
	made := &helm.Chart{Metadata: &helm.Metadata{APIVersion: "v2", Name: "collector", Version: "0.1.0"}}
	for _, template := range templates {
		made.Templates = append(made.Templates, &helm.File{Name: "templates/a.yaml", Data: []byte(template)})
	}
	return made
}

func TestAChartThatComputesKindsIsRefused(t *testing.T) {
	if _, err := NewChart(chartOf("apiVersion: v1\nkind: {{.Values.kind}}\n")); err == nil || !strings.Contains(err.Error(), "write the kind out") {
		t.Errorf("error %v", err)
	}
}

func TestRenderRefusesHooks(t *testing.T) {
	hook := "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {helm.sh/hook: pre-delete}}\n"
	c, err := NewChart(chartOf(hook))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Render(types.NamespacedName{Namespace: "acme", Name: "gateway"}, map[string]any{}, helm.DefaultCapabilities,
		postrender.Renderer{})
	if err == nil || !strings.Contains(err.Error(), "renders a Helm hook") {
		t.Errorf("error %v", err)
	}
}

func TestABrokenManifestIsNotQuoted(t *testing.T) {
	_, err := Parse("a: 1\nsecret: [\n")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want one without the manifest's content", err)
	}
}

func TestTheManifestThatIsRecordedHasNoDataOfSecrets(t *testing.T) {
	rendered, err := Parse("---\n# Source: a\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: aHVudGVyMg==}\n" +
		"---\n# Source: b\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n")
	if err != nil {
		t.Fatal(err)
	}
	public := rendered.Public()
	if strings.Contains(public, "aHVudGVyMg==") || !strings.Contains(public, "name: a") || !strings.Contains(public, "name: b") {
		t.Errorf("recorded:\n%s", public)
	}
}
