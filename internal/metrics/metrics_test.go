package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/rollout"
)

func TestReconcilesAndActionsAreCountedByHowTheyEnd(t *testing.T) {
	refused := fmt.Errorf("render: %w", &configuration.Error{})
	for want, err := range map[string]error{
		"install success": nil, "install failure": errors.New("broken"), "install rejected": refused,
	} {
		registry := prometheus.NewPedanticRegistry()
		m := New(registry)
		m.Acted(Install, err)
		m.Reconciled(false, nil, time.Millisecond)
		checkCounts(t, registry, full, want)
	}
}

// checkCounts checks that one reconcile has ended so, and one action.
func checkCounts(t *testing.T, registry prometheus.Gatherer, reconcile, action string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			var values []string
			for _, label := range series.GetLabel() { // sorted by name: action, result
				values = append(values, label.GetValue())
			}
			got, labels := series.GetCounter().GetValue(), strings.Join(values, " ")
			if family.GetName() == "kube8_pass_duration_seconds" {
				got = float64(series.GetHistogram().GetSampleCount())
			}
			want := 0.0
			if labels != "" && (labels == reconcile || labels == action) {
				want = 1
			}
			if got != want {
				t.Errorf("%s{%s}: %v, want %v", family.GetName(), labels, got, want)
			}
		}
	}
}

func TestRepairsAreCounted(t *testing.T) {
	m := New(prometheus.NewPedanticRegistry())
	m.Repaired()
	if got := testutil.ToFloat64(m.repairs); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
}

func TestCollectorsThatLackAChangeAreCountedOverAllKinds(t *testing.T) {
	m := New(prometheus.NewPedanticRegistry())
	one, other := m.RolledOut(), m.RolledOut()
	one(rollout.Counts{Waiting: 7, RollingOut: 1})
	other(rollout.Counts{Waiting: 3, Held: 2})
	one(rollout.Counts{Waiting: 5, LeftOut: 4, Overdue: 1})
	want := map[string]float64{"waiting": 8, "held": 2, "left_out": 4, "rolling_out": 0, "overdue": 1}
	for state, count := range want {
		if got := testutil.ToFloat64(m.rollout.WithLabelValues(state)); got != count {
			t.Errorf("%s: got %v, want %v", state, got, count)
		}
	}
}
