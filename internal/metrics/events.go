package metrics

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Events decorates the recorder of what the operator tells in events.
func (m *Metrics) Events(next record.EventRecorder) record.EventRecorder {
	return recorder{EventRecorder: next, metrics: m}
}

type recorder struct {
	record.EventRecorder
	metrics *Metrics
}

// Eventf records an event, and counts it if its reason has a metric.
func (r recorder) Eventf(object runtime.Object, eventType, reason, messageFormat string, args ...any) {
	if counter, found := r.metrics.events[reason]; found {
		counter.Inc()
	}
	r.EventRecorder.Eventf(object, eventType, reason, messageFormat, args...)
}
