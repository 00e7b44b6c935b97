package rollout

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A hold comes when a Collector was admitted, and it has not taken the change.
func TestAHoldGivesBackATurn(t *testing.T) {
	for name, line := range map[string]string{
		"before the status says that it has come": "a admitted",
		"after that": "a admitted rolls",
	} {
		f := newFleet("1", now)
		f.add(line)
		collector := &f.collectors[0]
		if IsOnItsWay(collector) {
			f.places[client.ObjectKeyFromObject(collector)] = place{number: 1, admitted: now.Add(-time.Second)}
		}
		collector.SetLabels(map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold})
		for range 2 {
			expectPending(t, f.Ask(collector), "True", v1alpha1.ReasonLeftOut, "label kube8.dev/rollout holds the operator's change back")
			unstructured.RemoveNestedField(collector.Object, "status", "conditions")
		}
		if counts := f.choose(f.collectors, now).Counts; counts != (Counts{LeftOut: 1}) {
			t.Errorf("%s: %+v while it is held", name, counts)
		}
		collector.SetLabels(nil)
		if chosen := f.choose(f.collectors, now); len(chosen.admitted) != 1 {
			t.Errorf("%s: %+v after the hold", name, chosen.Counts)
		}
		if since := f.places[client.ObjectKeyFromObject(collector)].since; !since.Equal(now.Add(-time.Second)) {
			t.Errorf("%s: on its way since %s, and the hold gives it no more time", name, since)
		}
	}
}

// Nothing was to see while the only Collector on its way was paused.
func TestACollectorThatIsResumedOnItsWayIsCounted(t *testing.T) {
	for name, resume := range map[string]func(*running, *unstructured.Unstructured){
		"when it takes a further change": func(r *running, c *unstructured.Unstructured) { r.Ask(c) },
		"when it has taken the change":   func(r *running, c *unstructured.Unstructured) { r.Done(c, r.Now(), true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				collector := newCollector("a", nil)
				collector.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
				rollsOut(collector, time.Now())
				r := run(collector)
				r.Look(context.Background())
				collector.SetAnnotations(nil)
				r.change(0, collector)
				resume(r, collector)
				r.Look(context.Background())
				r.expect(t, 0, Counts{RollingOut: 1})
			})
		})
	}
}
