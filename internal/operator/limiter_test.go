package operator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube8/kube8-operator/internal/queue"
	"github.com/kube8/kube8-operator/internal/status"
)

var gateway = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "acme", Name: "gateway"}}

// collectorOf returns a Collector of a generation.
func collectorOf(generation int64) *unstructured.Unstructured {
	collector := &unstructured.Unstructured{Object: map[string]any{}}
	collector.SetNamespace(gateway.Namespace)
	collector.SetName(gateway.Name)
	collector.SetUID("1-2-3")
	collector.SetGeneration(generation)
	return collector
}

// limiterOf returns the limiter for a cache that has a Collector, or none.
func limiterOf(collector **unstructured.Unstructured) *limiter {
	find := func(context.Context, client.ObjectKey) *unstructured.Unstructured { return *collector }
	return &limiter{queue.NewBackoff(time.Now), find}
}

func TestTheDelaysDouble(t *testing.T) {
	for name, collector := range map[string]*unstructured.Unstructured{"of a Collector": collectorOf(1), "of one that has gone": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := limiterOf(&collector)
				for _, want := range []time.Duration{2, 4, 8, 16, 32, 64, 120, 120} {
					for range 10 { // a reconcile that was not due leaves the delay alone
						if got := b.When(gateway); got != want*time.Second {
							t.Errorf("got %s, want %d s", got, want)
						}
						b.Forget(gateway) // after a reconcile that waits for something
					}
					time.Sleep(want * time.Second) //nolint:forbidigo // of the bubble's clock
				}
			})
		})
	}
}

func TestWhatStartsTheDelaysAnew(t *testing.T) {
	for name, anew := range map[string]func(*limiter) int64{
		"a success":                 func(b *limiter) int64 { b.Ended(collectorOf(1), 0, status.Outcome{}); return 1 },
		"a change of the Collector": func(*limiter) int64 { return 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				collector := collectorOf(1)
				b := limiterOf(&collector)
				for range 3 {
					time.Sleep(b.When(gateway)) //nolint:forbidigo // of the bubble's clock
				}
				collector = collectorOf(anew(b))
				if got := b.When(gateway); got != 2*time.Second {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

func TestACollectorWaitsUntilTheDelayAfterItsLastFailureIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector := collectorOf(1)
		b := limiterOf(&collector)
		for _, step := range []struct {
			name string
			do   func()
			want bool
		}{
			{"before a failure", func() {}, false},
			{"after a failure", func() { b.When(gateway) }, true},
			{"a moment before the retry", func() { time.Sleep(2*time.Second - 1) }, true}, //nolint:forbidigo // of the bubble's clock
			{"when the retry is due", func() { time.Sleep(time.Nanosecond) }, false},      //nolint:forbidigo // of the bubble's clock
		} {
			if step.do(); b.IsWaiting(collector) != step.want {
				t.Errorf("%s: want %t", step.name, step.want)
			}
		}
	})
}
