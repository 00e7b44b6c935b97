//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 19: the metrics API that a HorizontalPodAutoscaler asks is one of the library that adapters are made of.

func TestACollectorScalesByACustomMetric(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	namespace := newNamespace(t, "restricted")
	applyIn(t, namespace, "test/e2e/metrics/adapter.yaml")
	if out, err := kubectl(t.Context(), "rollout", "status", "-n", namespace, "deployment/adapter", "--timeout=2m"); err != nil {
		t.Fatalf("wait for the adapter: %v\n%s%s", err, out, show(t.Context(), "logs", "-n", namespace, "deployment/adapter"))
	}
	applyIn(t, namespace, "test/e2e/metrics/apiservice.yaml")

	const metric = "otelcol_exporter_queue_size"
	collector := newCollector(namespace, "gateway", printing("basic"))
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{
		Enabled: true, MaxReplicas: new(int32(4)),
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "gateway"},
			Metric:          autoscalingv2.MetricIdentifier{Name: metric},
			Target:          autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("500"))},
		}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))},
		},
	}
	waiting := func(size int) {
		g.Expect(cluster.CoreV1().RESTClient().Post().Namespace(namespace).Resource("services").Name("adapter:values").SubResource("proxy").
			Suffix("write-metrics/namespaces", namespace, "services/gateway", metric).SetHeader("Content-Type", "application/json").
			Body([]byte(strconv.Quote(strconv.Itoa(size)))).Do(t.Context()).Error()).To(Succeed())
	}
	waiting(400)
	create(t, collector)
	awaitReady(t, collector)
	first := podsOf(t, collector)
	g.Expect(first).To(HaveLen(1))

	scalesTo := func(queue, pods int) {
		waiting(queue)
		g.Eventually(func() int { return len(podsOf(t, collector)) }).Should(Equal(pods), "pods with a queue of %d", queue)
		awaitReady(t, collector)
		g.Eventually(func() int32 { return get(t, collector, &v1alpha1.Collector{}).Status.ReadyReplicas }).Should(BeEquivalentTo(pods))
	}
	scalesTo(1400, 3)
	g.Expect(uids(podsOf(t, collector))).To(ContainElement(first[0].UID), "the pod that ran before")
	scalesTo(400, 1)
}

// applyIn applies a file that names the namespace NAMESPACE, until the test ends.
func applyIn(t *testing.T, namespace, file string) {
	t.Helper()
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, args ...string) {
		command := kubectlCommand(ctx, append(args, "-f", "-")...)
		command.Stdin = bytes.NewReader(bytes.ReplaceAll(manifest, []byte("NAMESPACE"), []byte(namespace)))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %v\n%s", file, args, err, out)
		}
	}
	run(t.Context(), "apply")
	t.Cleanup(func() { run(context.Background(), "delete", "--ignore-not-found") })
}
