package memory

import (
	"errors"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheFirstPassAfterARestart(t *testing.T) {
	rendered := []string{"get", "dry run"}
	tests := map[string]struct {
		happens func(*world)
		want    []string
	}{
		"nothing happened":          {happens: func(*world) {}, want: []string{"get"}},
		"a label was added":         {happens: func(w *world) { w.collector.SetGeneration(2) }, want: []string{"get"}},
		"the values are others":     {happens: func(w *world) { w.values["mode"] = "daemonset" }, want: rendered},
		"the configuration changed": {happens: func(w *world) { w.configuration = "2" }, want: rendered},
		"the chart is another": {
			happens: func(w *world) {
				w.chart = &chart.Chart{Metadata: &chart.Metadata{}, Raw: []*chart.File{{Name: "Chart.yaml", Data: []byte("name: other")}}}
			},
			want: rendered,
		},
		"the chart's default registry is another": {
			happens: func(w *world) {
				annotations := map[string]string{"kube8.dev/collector-registry": "mirror.example.com"}
				w.chart = &chart.Chart{Metadata: &chart.Metadata{Annotations: annotations}, Raw: w.chart.Raw}
			},
			want: rendered,
		},
		"the cluster offers something more": {
			happens: func(w *world) {
				offers := w.helm.config.Capabilities
				offers.APIVersions = append(slices.Clip(offers.APIVersions), "example.com/v1/New")
			},
			want: rendered,
		},
		"Kubernetes was upgraded": {
			happens: func(w *world) { w.helm.config.Capabilities.KubeVersion.Version = "v1.99.0" },
			want:    rendered,
		},
		"the release was edited by somebody": {
			happens: func(w *world) { w.helm.manifest += "\n# edited" },
			want:    rendered,
		},
		"the Collector is another of that name": {
			happens: func(w *world) { w.collector.SetUID("v") },
			want:    rendered,
		},
		"the status was not written": {
			happens: func(w *world) { delete(w.collector.Object, "status") },
			want:    rendered,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.pass(t)
			digest := w.memory.Of("u").Deployed.Digest
			if err := unstructured.SetNestedField(w.collector.Object, digest, "status", "deployedRelease", "digest"); err != nil {
				t.Fatal(err)
			}
			w.restart()
			test.happens(w)
			if got := w.pass(t); !slices.Equal(got, test.want) {
				t.Errorf("asked Helm for %q, want %q", got, test.want)
			}
			if outcome := w.memory.Of(w.collector.GetUID()); !outcome.InOrder || len(outcome.Deployed.Digest) != 64 {
				t.Errorf("remembered: %+v, %+v", outcome, outcome.Deployed)
			}
			if got := w.pass(t); len(got) > 0 {
				t.Errorf("then asked Helm for %q", got)
			}
		})
	}
}

func TestALaterPassIsRenderedAlthoughTheStatusHasTheDigest(t *testing.T) {
	w := newWorld()
	w.pass(t)
	digest := w.memory.Of("u").Deployed.Digest
	if err := unstructured.SetNestedField(w.collector.Object, digest, "status", "deployedRelease", "digest"); err != nil {
		t.Fatal(err)
	}
	w.changeService(t, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	if got, want := w.pass(t), []string{"get", "dry run", "repair"}; !slices.Equal(got, want) {
		t.Errorf("asked Helm for %q, want %q", got, want)
	}
}

func TestAReleaseThatFailedIsNotTakenForDeployed(t *testing.T) {
	w := newWorld()
	w.helm.status = release.StatusFailed
	w.helm.refused = errors.New("refused by the API server")
	w.pass(t)
	if outcome := w.memory.Of("u"); outcome.Deployed != nil {
		t.Errorf("deployed: %+v", outcome.Deployed)
	}
}
