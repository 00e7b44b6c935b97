package capabilities

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var kind = schema.GroupVersionKind{Group: "kube8.dev", Version: "v1alpha1", Kind: "Collector"}

// queue notes when which passes are due.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	delays map[string]time.Duration
}

func (q *queue) AddAfter(request reconcile.Request, delay time.Duration) {
	q.delays[request.Name] = delay
}

// controller starts a source at once.
type controller struct {
	t     *testing.T
	queue *queue
}

func (c controller) Watch(src source.Source) error {
	c.t.Helper()
	return src.Start(c.t.Context(), c.queue)
}

func TestAChangeStartsAPassOverEachCollector(t *testing.T) {
	tests := map[string]struct {
		count int
		last  time.Duration // until the last pass
	}{
		"at once, if there is one":   {count: 1},
		"one after the other":        {count: 3, last: 30 * time.Millisecond},
		"in 15 s, if there are many": {count: 3000, last: 2999 * 5 * time.Millisecond},
		"also if there are none":     {count: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			collectors := []client.Object{collector("not-chosen", "b")}
			for i := range test.count {
				collectors = append(collectors, collector(fmt.Sprintf("collector-%d", i), "a"))
			}
			cached := fake.NewClientBuilder().WithObjects(collectors...).Build()
			cluster := newCluster()
			cache, _ := newCache(cluster)
			passes := &queue{delays: map[string]time.Duration{}}
			watch := cache.Watch(cached, kind, &metav1.LabelSelector{MatchLabels: map[string]string{"shard": "a"}})
			if err := watch(controller{t, passes}); err != nil {
				t.Fatal(err)
			}

			capabilitiesOf(t, cache)
			if len(passes.delays) > 0 {
				t.Errorf("passes after the first answer: %v", passes.delays)
			}
			cluster.kinds[monitors] = []string{"ServiceMonitor"}
			cache.doubted.Store(true)
			capabilitiesOf(t, cache)
			last := time.Duration(0)
			for _, delay := range passes.delays {
				last = max(last, delay)
			}
			if _, found := passes.delays["not-chosen"]; found || len(passes.delays) != test.count || last != test.last {
				t.Errorf("%d passes, the last one after %s; over a Collector that is not chosen: %t", len(passes.delays), last, found)
			}
			different := map[time.Duration]bool{}
			for _, delay := range passes.delays {
				different[delay] = true
			}
			if len(different) != test.count {
				t.Errorf("%d different delays", len(different))
			}
		})
	}
}

func TestASelectorThatCannotBeReadIsRefused(t *testing.T) {
	cache, _ := newCache(newCluster())
	watch := cache.Watch(nil, kind, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "shard", Operator: "Like"}}})
	if err := watch(controller{t, nil}); err == nil {
		t.Error("no error")
	}
}

func collector(name, shard string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("acme")
	obj.SetName(name)
	obj.SetLabels(map[string]string{"shard": shard})
	return obj
}
