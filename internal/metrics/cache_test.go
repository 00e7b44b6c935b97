package metrics

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

var collectorKind = v1alpha1.GroupVersion.WithKind("Collector")

// collector returns a Collector with a condition Ready.
func collector(name, status, reason, since string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector",
		"metadata": map[string]any{"name": name, "namespace": "acme", "creationTimestamp": "1970-01-01T00:00:42Z"},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Deployed", "status": "True"},
			map[string]any{"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": since},
		}},
	}}
}

// cached gives c an informer that has some objects, and returns once it has all of them.
func cached(t *testing.T, c *Cache, example runtime.Object, objects ...runtime.Object) {
	t.Helper()
	source := fcache.NewFakeControllerSource()
	for _, object := range objects {
		source.Add(object)
	}
	informer := c.NewInformer(source, example, 0, cache.Indexers{})
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer has no objects")
	}
}

func example() runtime.Object {
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(collectorKind)
	return example
}

func expect(t *testing.T, c *Cache, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestCollectorsByReadiness(t *testing.T) {
	c := &Cache{}
	fresh := collector("fresh", "", "", "")
	delete(fresh.Object, "status")
	cached(t, c, example(),
		collector("a", "True", "Available", "1970-01-01T00:00:01Z"),
		collector("b", "False", "PodsNotReady", "1970-01-01T00:00:03Z"),
		collector("c", "False", "PodsNotReady", "1970-01-01T00:00:02Z"),
		collector("d", "Unknown", "Paused", "1970-01-01T00:00:04Z"),
		collector("of a status that the operator does not write", "False", "written-by-a-tenant", "1970-01-01T00:00:05Z"),
		fresh,
	)
	expect(t, c, `
# HELP kube8_collectors Collectors by status and reason of their condition Ready.
# TYPE kube8_collectors gauge
kube8_collectors{reason="Available",status="True"} 1
kube8_collectors{reason="CanaryPaused",status="False"} 0
kube8_collectors{reason="CheckFailed",status="False"} 0
kube8_collectors{reason="Checking",status="False"} 0
kube8_collectors{reason="ConfigInvalid",status="False"} 0
kube8_collectors{reason="ConfigMissing",status="False"} 0
kube8_collectors{reason="Conflict",status="False"} 0
kube8_collectors{reason="Paused",status="Unknown"} 1
kube8_collectors{reason="PodsNotReady",status="False"} 2
kube8_collectors{reason="Progressing",status="False"} 0
kube8_collectors{reason="Proving",status="False"} 0
kube8_collectors{reason="ReleaseFailed",status="False"} 0
kube8_collectors{reason="RolledBack",status="False"} 0
kube8_collectors{reason="Unknown",status="Unknown"} 2
# HELP kube8_collectors_unready_since_timestamp_seconds Since when the Collector is not ready that has not been for the longest time, by reason.
# TYPE kube8_collectors_unready_since_timestamp_seconds gauge
kube8_collectors_unready_since_timestamp_seconds{reason="Paused"} 4
kube8_collectors_unready_since_timestamp_seconds{reason="PodsNotReady"} 2
kube8_collectors_unready_since_timestamp_seconds{reason="Unknown"} 42
`, "kube8_collectors", "kube8_collectors_unready_since_timestamp_seconds")
}

func TestCollectorsByDataFlow(t *testing.T) {
	c := &Cache{}
	flowing := func(name, reason string) *unstructured.Unstructured {
		made := collector(name, "True", "Available", "1970-01-01T00:00:01Z")
		_ = unstructured.SetNestedSlice(made.Object, []any{map[string]any{"type": "DataFlowing", "status": "False", "reason": reason}}, "status", "conditions")
		return made
	}
	goes := flowing("c", "Refusing") // another client's finalizer holds it
	goes.SetDeletionTimestamp(new(metav1.Now()))
	cached(t, c, example(), flowing("a", "ExportFails"), flowing("b", "ExportFails"), goes)
	expect(t, c, `
# HELP kube8_flow_collectors Collectors with spec.flow by status and reason of their condition DataFlowing.
# TYPE kube8_flow_collectors gauge
kube8_flow_collectors{reason="AllDropped",status="False"} 0
kube8_flow_collectors{reason="ExportFails",status="False"} 2
kube8_flow_collectors{reason="Flowing",status="True"} 0
kube8_flow_collectors{reason="NoMetrics",status="Unknown"} 0
kube8_flow_collectors{reason="NoTraffic",status="Unknown"} 0
kube8_flow_collectors{reason="PartlyDropped",status="False"} 0
kube8_flow_collectors{reason="QueueFilling",status="True"} 0
kube8_flow_collectors{reason="Refusing",status="False"} 0
kube8_flow_collectors{reason="Unreachable",status="Unknown"} 0
`, "kube8_flow_collectors")
}

func TestCacheSize(t *testing.T) {
	c := &Cache{}
	cached(t, c, example(), collector("a", "True", "Available", "1970-01-01T00:00:01Z"))
	for _, namespace := range []string{"a", "b"} { // an operator for two namespaces has two informers
		cached(t, c, &corev1.Pod{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"}})
	}
	expect(t, c, `
# HELP kube8_cache_objects Objects in the informer cache by kind.
# TYPE kube8_cache_objects gauge
kube8_cache_objects{kind="Collector"} 1
kube8_cache_objects{kind="Pod"} 2
`, "kube8_cache_objects")
}

func TestInformersThatHaveNotBegunOrHaveEndedAreNotCounted(t *testing.T) {
	c := &Cache{}
	c.NewInformer(fcache.NewFakeControllerSource(), example(), 0, cache.Indexers{})
	expect(t, c, "", "kube8_collectors_unready_since_timestamp_seconds", "kube8_cache_objects")

	source := fcache.NewFakeControllerSource()
	source.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "pod"}})
	informer := c.NewInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		informer.RunWithContext(ctx)
		close(ended)
	}()
	cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced)
	cancel()
	<-ended
	expect(t, c, "", "kube8_cache_objects")
	c.NewInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	if len(c.informers) != 2 {
		t.Errorf("%d informers are kept, want the two that have not begun", len(c.informers))
	}
}

func TestNamesFollowTheConventions(t *testing.T) {
	c := &Cache{}
	cached(t, c, example(), collector("a", "False", "Conflict", "1970-01-01T00:00:01Z"))
	registry := prometheus.NewPedanticRegistry()
	New(registry)
	registry.MustRegister(c)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestCollectorsWhoseBaseIsRefused(t *testing.T) {
	pending := func(name, reason string) *unstructured.Unstructured {
		made := collector(name, "True", "Available", "1970-01-01T00:00:01Z")
		_ = unstructured.SetNestedSlice(made.Object, []any{map[string]any{"type": "UpdatePending", "status": "True", "reason": reason}},
			"status", "conditions")
		return made
	}
	c := &Cache{}
	cached(t, c, example(), pending("a", v1alpha1.ReasonBaseRefused), pending("b", v1alpha1.ReasonBaseRefused), pending("c", v1alpha1.ReasonWaiting))
	expect(t, c, `
# HELP kube8_base_refused_collectors Collectors that keep the version of a base that they have deployed, because the base is refused.
# TYPE kube8_base_refused_collectors gauge
kube8_base_refused_collectors 2
`, "kube8_base_refused_collectors")
}
