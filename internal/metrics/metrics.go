// Package metrics says in numbers how the operator and its Collectors are, for Prometheus.
//
// The operator tells how reconciles end, and the action client how actions of releases do, and what was repaired. The informers of the
// manager's cache are counted, and asked for the readiness of Collectors, at each scrape. No label has a value that
// a user can choose, so the number of series does not grow with the fleet. docs/how-to/monitor.md has the table of the metrics.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// The values of the labels action and result.
const (
	Install   = "install"
	Upgrade   = "upgrade"
	Uninstall = "uninstall"

	// success and failure are how an action of a release ends; it is rejected if the configuration is.
	success, failure, rejected = "success", "failure", "rejected"

	// Proven is how a canary ends that is promoted or proves its change.
	Proven = "proven"

	// RolledBack is how a canary ends that fails or is aborted.
	RolledBack = "rolled_back"

	// A reconcile is fast if nothing was to do by what is remembered, or else full, unless it ends with an error.
	fast, full, failed = "fast", "full", "error"
)

// durations are the histogram's buckets, in seconds. A fast reconcile takes less than a millisecond, a full one some tens of
// milliseconds. A reconcile that waits for the API server, or for objects to go, takes 30 s and more.
var durations = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// Metrics count and time what the operator does.
type Metrics struct {
	actions    *prometheus.CounterVec
	reconciles *prometheus.HistogramVec
	repairs    prometheus.Counter
	rollout    *prometheus.GaugeVec
	canaries   *prometheus.CounterVec
}

// New returns the metrics of an operator, and panics if registry has such already. All counters begin with 0, so that
// Prometheus sees the first increase.
func New(registry prometheus.Registerer) *Metrics {
	register := promauto.With(registry)
	m := &Metrics{
		actions: register.NewCounterVec(prometheus.CounterOpts{
			Name: "kube8_release_actions_total", Help: "Installs, upgrades and uninstalls of Helm releases, by how they ended.",
		}, []string{"action", "result"}),
		reconciles: register.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kube8_pass_duration_seconds", Help: "How long reconciles of Collectors took: fast, from memory, or full, or until an error.",
			Buckets: durations,
		}, []string{"result"}),
		repairs: register.NewCounter(prometheus.CounterOpts{
			Name: "kube8_drift_repairs_total", Help: "Reconciles that brought objects back to what their release says.",
		}),
		rollout: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube8_rollout_collectors", Help: "Collectors that a change by the operator is yet to reach, by where it is.",
		}, []string{"state"}),
		canaries: register.NewCounterVec(prometheus.CounterOpts{
			Name: "kube8_canaries_total", Help: "Changes that canary pods had to prove, by how that ended.",
		}, []string{"result"}),
	}
	for _, result := range []string{Proven, RolledBack} {
		m.canaries.WithLabelValues(result)
	}
	for _, action := range []string{Install, Upgrade, Uninstall} {
		for _, result := range []string{success, failure, rejected} {
			m.actions.WithLabelValues(action, result)
		}
	}
	for _, result := range []string{fast, full, failed} {
		m.reconciles.WithLabelValues(result)
	}
	return m
}

// Acted counts an action of a release by how it ended.
func (m *Metrics) Acted(action string, err error) {
	result := success
	switch _, isRejected := errors.AsType[*configuration.Error](err); {
	case isRejected:
		result = rejected
	case err != nil:
		result = failure
	}
	m.actions.WithLabelValues(action, result).Inc()
}

// Reconciled tells how a reconcile ended, and how long it took.
func (m *Metrics) Reconciled(isFast bool, err error, took time.Duration) {
	result := full
	switch {
	case err != nil:
		result = failed
	case isFast:
		result = fast
	}
	m.reconciles.WithLabelValues(result).Observe(took.Seconds())
}

// RolledOut returns a function that takes how many Collectors of one kind still lack a change by the operator. The metric has
// the sum over all kinds.
func (m *Metrics) RolledOut() func(rollout.Counts) {
	var before rollout.Counts
	return func(now rollout.Counts) {
		for state, more := range map[string]int{
			"waiting": now.Waiting - before.Waiting, "held": now.Held - before.Held, "left_out": now.LeftOut - before.LeftOut,
			"rolling_out": now.RollingOut - before.RollingOut, "overdue": now.Overdue - before.Overdue,
		} {
			m.rollout.WithLabelValues(state).Add(float64(more))
		}
		before = now
	}
}

// Repaired counts a reconcile that brought objects back to what their release says.
func (m *Metrics) Repaired() { m.repairs.Inc() }

// Proved counts a change that canary pods had to prove, by how that ended.
func (m *Metrics) Proved(result string) { m.canaries.WithLabelValues(result).Inc() }
