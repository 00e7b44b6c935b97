package reconcile

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/test/simulation"
)

// With an empty manifest, the stock reconciler's updater would find nothing to change in the status, and would not write it.
func TestTheStockReconcilerGetsAReleaseThatHasTheStatusWritten(t *testing.T) {
	for name, wait := range map[string]time.Duration{"before the installation": 0, "after it": time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newSimWorld(simulation.Schedule{Collectors: 1}, &simCharts{}, metrics.New(prometheus.NewRegistry()), nil)
			w.pass(wait)
			if isInstalled := w.spaces[0].state.revision() == 1; isInstalled != (wait > 0) {
				t.Fatalf("installed: %t", isInstalled)
			}
			client, err := w.operator.clients.ActionClientFor(t.Context(), w.spaces[0].collector())
			if err != nil {
				t.Fatal(err)
			}
			current, err := client.Get(simName)
			if err != nil || current.Manifest == "" {
				t.Errorf("got %+v, %v", current, err)
			}
			next, err := client.Upgrade(simName, w.spaces[0].namespace(), nil, nil)
			if err != nil || next.Manifest != current.Manifest {
				t.Errorf("the stock reconciler has something to decide: %+v, %v", next, err)
			}
		})
	}
}
