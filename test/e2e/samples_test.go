//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 10.

func TestTheSamplesBecomeReady(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("config/samples/kube8_v1alpha1_collector*.yaml")
	if err != nil || len(files) != 11 {
		t.Fatalf("the samples: found %q, %v", files, err)
	}
	samples := map[string]*v1alpha1.Collector{}
	for _, file := range files {
		sample := readSample(t, file)
		samples[sample.Name] = sample
	}
	// Their programs are not built here. What they become is deployed all the same.
	absent := []string{"load-balancer", "fluent-bit", "aggregator", "telegraf"}

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
	for _, folder := range []string{"config/collector-roles", "config/samples"} {
		if out, err := kubectl(t.Context(), "apply", "--server-side", "-k", folder); err != nil {
			t.Fatalf("apply %s: %v\n%s", folder, err, out)
		}
	}
	certified := certificates(t, samples["mtls-gateway"].Namespace, "mtls-gateway")
	create(t, certified)
	for name, sample := range samples {
		if slices.Contains(absent, name) {
			NewWithT(t).Eventually(func() (string, error) { return waitsFor(t.Context(), sample) }).
				Should(HavePrefix("its pods: "), "what Collector %s waits for", name)
			continue
		}
		awaitReady(t, sample)
	}
	gateway := samples["gateway"]
	t.Run("and the scraper's metrics reach the gateway", func(t *testing.T) {
		awaitPrinted(t, gateway, `"otelcol.signal": "metrics"`)
	})
	t.Run("and the logs of the tenant's pods do", func(t *testing.T) {
		awaitPrinted(t, gateway, `"otelcol.signal": "logs"`)
	})
	t.Run("and a trace that the tail sampler keeps, because it is slow, does", func(t *testing.T) {
		NewWithT(t).Eventually(func() error { return send(t.Context(), samples["tail-sampler"], "a-slow-span") }).Should(Succeed())
		awaitPrinted(t, gateway, `"otelcol.signal": "traces"`)
	})
	t.Run("and the gateway with mTLS takes telemetry from who has a certificate only", func(t *testing.T) {
		checkMTLS(t, samples["mtls-gateway"], certified)
	})
	t.Run("and the node agent may read what its preset reads", func(t *testing.T) {
		NewWithT(t).Eventually(func() string {
			return conditionOf(get(t, samples["node-agent"], &v1alpha1.Collector{}), v1alpha1.PresetsReady)
		}).
			Should(Equal("True Allowed"))
	})
	t.Run("and the gateway has the pods of its autoscaler, which says whether anybody measures them", func(t *testing.T) {
		g := NewWithT(t)
		measured := corev1.ConditionTrue
		if _, err := cluster.Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1"); apierrors.IsNotFound(err) {
			measured = corev1.ConditionFalse
		}
		g.Eventually(func() int32 { return get(t, gateway, &v1alpha1.Collector{}).Status.ReadyReplicas }).
			Should(Equal(*gateway.Spec.Autoscaling.MinReplicas))
		g.Eventually(func() map[autoscalingv2.HorizontalPodAutoscalerConditionType]corev1.ConditionStatus {
			found := map[autoscalingv2.HorizontalPodAutoscalerConditionType]corev1.ConditionStatus{}
			for _, condition := range get(t, gateway, &autoscalingv2.HorizontalPodAutoscaler{}).Status.Conditions {
				found[condition.Type] = condition.Status
			}
			return found
		}).Should(And(
			HaveKeyWithValue(autoscalingv2.AbleToScale, corev1.ConditionTrue),
			HaveKeyWithValue(autoscalingv2.ScalingActive, measured),
		))
		awaitReady(t, gateway)
	})
	t.Run("and the commands for when something is wrong work", func(t *testing.T) {
		script, err := docs.Script("docs/how-to/troubleshoot.md", "Troubleshooting")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := docs.Shell(t.Context(), script, kubectlCommand(t.Context()).Path).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("and those of the runbooks do", func(t *testing.T) {
		script, err := docs.Script("docs/runbooks/*.md", "Diagnosis")
		if err != nil {
			t.Fatal(err)
		}
		script = strings.NewReplacer("NAMESPACE", gateway.Namespace, "NAME", gateway.Name).Replace(script)
		for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
			script := `PATH="$PWD/bin:$PATH"` + "\n" + line // for the plugin
			out, err := docs.Shell(t.Context(), script, kubectlCommand(t.Context()).Path).CombinedOutput()
			if err != nil && !strings.Contains(line, "| grep ") && !notInstalled.Match(out) {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	})
}

// notInstalled is what kubectl says on a cluster without a metrics server or without the Prometheus Operator.
var notInstalled = regexp.MustCompile(`Metrics API not available|doesn't have a resource type "servicemonitor"`)

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
