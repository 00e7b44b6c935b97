package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"

	"github.com/kube8/kube8-operator/internal/postrender"
)

func TestReconcilesAndActionsAreCountedByHowTheyEnd(t *testing.T) {
	refused := fmt.Errorf("render: %w", &postrender.ConfigurationError{})
	for want, err := range map[string]error{
		"install success": nil, "install failure": errors.New("broken"), "install rejected": refused,
	} {
		m := New()
		m.Acted(Install, err)
		m.Reconciled(Full, time.Millisecond)
		checkCounts(t, m, Full, want)
	}
}

// checkCounts checks that one pass has ended so, and one action, unless it is empty.
func checkCounts(t *testing.T, m *Metrics, pass, action string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
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
			if labels != "" && (labels == pass || labels == action) {
				want = 1
			}
			if got != want {
				t.Errorf("%s{%s}: %v, want %v", family.GetName(), labels, got, want)
			}
		}
	}
}

func TestRepairsAreCountedByTheirEvents(t *testing.T) {
	m := New()
	events := record.NewFakeRecorder(3)
	recorder := m.Events(events)
	for _, reason := range []string{"DriftRepaired", "Upgraded"} {
		recorder.Eventf(&unstructured.Unstructured{}, "Normal", reason, "revision %d", 2)
		if got, want := <-events.Events, "Normal "+reason+" revision 2"; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
	for reason, counter := range m.events {
		if got := testutil.ToFloat64(counter); got != 1 {
			t.Errorf("%s: %v, want 1", reason, got)
		}
	}
}
