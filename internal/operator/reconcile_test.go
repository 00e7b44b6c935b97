package operator

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/status"
)

func TestHowAReconcileEndsAndWhenTheNextOneIs(t *testing.T) {
	refused := withPresets("False")
	paused := collectorOf(1)
	paused.SetAnnotations(map[string]string{"kube8.dev/paused": "true"})
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		collector *unstructured.Unstructured
		ended     status.Outcome
		err       error
		measured  string
		next      time.Duration
		backsOff  bool // a failure before it still counts
	}{
		"nothing was to do":                  {collectorOf(1), status.Outcome{Fast: true}, nil, "fast", time.Hour, false},
		"something was to do":                {collectorOf(1), status.Outcome{}, nil, "full", time.Hour, false},
		"something is to do in a second":     {collectorOf(1), status.Outcome{Requeue: time.Second}, nil, "full", time.Second, false},
		"something is to do after a while":   {collectorOf(1), status.Outcome{Requeue: 2 * time.Hour}, nil, "full", time.Hour, false},
		"it waits for a check":               {collectorOf(1), status.Outcome{Verdict: plan.Checking}, nil, "full", time.Hour, true},
		"it waits for a role to be bound":    {refused, status.Outcome{}, nil, "full", 2 * time.Second, false},
		"it failed":                          {collectorOf(1), status.Outcome{}, broken, "error", 0, true},
		"it is paused, and nothing was done": {paused, status.Outcome{Requeue: time.Second}, nil, "", time.Hour, true},
		"it has gone, and nothing was done":  {nil, status.Outcome{}, nil, "", time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stock := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					return reconcile.Result{RequeueAfter: time.Hour}, row.err
				})
				registry := prometheus.NewPedanticRegistry()
				delays := limiterOf(&row.collector)
				delays.When(gateway)
				ended := func(client.ObjectKey) status.Outcome { return row.ended }
				m := &measured{stock, ended, delays, metrics.New(registry)}
				result, err := m.Reconcile(t.Context(), gateway)
				if result.RequeueAfter != row.next || !errors.Is(err, row.err) {
					t.Errorf("got %s, %v", result.RequeueAfter, err)
				}
				if row.collector != nil && delays.IsWaiting(row.collector) != row.backsOff {
					t.Errorf("a failure before it counts: want %t", row.backsOff)
				}
				want := map[string]uint64{"fast": 0, "full": 0, "error": 0}
				if row.measured != "" {
					want[row.measured]++
				}
				if got := reconciles(t, registry); !maps.Equal(got, want) {
					t.Errorf("measured %v, want %v", got, want)
				}
			})
		})
	}
}

// A role is missing for minutes, and then an apply is refused.
func TestARoleThatIsMissingDelaysNoRetryOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector := withPresets("False")
		delays := limiterOf(&collector)
		stock := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
		ended := func(client.ObjectKey) status.Outcome { return status.Outcome{} }
		m := &measured{stock, ended, delays, metrics.New(prometheus.NewPedanticRegistry())}
		next := func(want time.Duration) {
			t.Helper()
			if result, _ := m.Reconcile(t.Context(), gateway); result.RequeueAfter != want {
				t.Errorf("the role is looked for after %s, want %s", result.RequeueAfter, want)
			}
			if delays.IsWaiting(collector) {
				t.Error("it counts as a failure")
			}
		}
		for _, want := range []time.Duration{2, 4, 8, 16} {
			next(want * time.Second)
			time.Sleep(want * time.Second) //nolint:forbidigo // of the bubble's clock
		}
		if got := delays.When(gateway); got != 2*time.Second {
			t.Errorf("the retry is after %s", got)
		}
		collector = withPresets("True")
		next(0)
		collector = withPresets("Unknown")
		next(2 * time.Second)
	})
}

// withPresets returns a Collector with a status of the condition PresetsReady.
func withPresets(is string) *unstructured.Unstructured {
	collector := collectorOf(1)
	collector.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "PresetsReady", "status": is}}}
	return collector
}

// reconciles returns how many reconciles were measured, by how they ended.
func reconciles(t *testing.T, registry prometheus.Gatherer) map[string]uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			if family.GetName() == "kube8_pass_duration_seconds" {
				found[series.GetLabel()[0].GetValue()] = series.GetHistogram().GetSampleCount()
			}
		}
	}
	return found
}
