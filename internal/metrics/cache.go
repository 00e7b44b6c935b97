package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

var (
	readyDesc = prometheus.NewDesc("kube8_collectors",
		"Collectors by status and reason of their condition Ready.", []string{"status", "reason"}, nil)
	unreadySinceDesc = prometheus.NewDesc("kube8_collectors_unready_since_timestamp_seconds",
		"Since when the Collector is not ready that has not been for the longest time, by reason.", []string{"reason"}, nil)
	cachedDesc = prometheus.NewDesc("kube8_cache_objects",
		"Objects in the informer cache by kind.", []string{"kind"}, nil)
)

// unknown is the reason of a Collector that has no condition Ready yet, or one that the operator has not written.
const unknown = "Unknown"

// statuses has the status that goes with each reason.
var statuses = map[string]corev1.ConditionStatus{
	v1alpha1.ReasonAvailable:     corev1.ConditionTrue,
	v1alpha1.ReasonProgressing:   corev1.ConditionFalse,
	v1alpha1.ReasonPodsNotReady:  corev1.ConditionFalse,
	v1alpha1.ReasonConfigInvalid: corev1.ConditionFalse,
	v1alpha1.ReasonConfigMissing: corev1.ConditionFalse,
	v1alpha1.ReasonConflict:      corev1.ConditionFalse,
	v1alpha1.ReasonReleaseFailed: corev1.ConditionFalse,
	v1alpha1.ReasonPaused:        corev1.ConditionUnknown,
	unknown:                      corev1.ConditionUnknown,
}

// NewInformer makes an informer whose objects are counted; it is for the options of the manager's cache. An operator that
// waits for the lead has none, so that the sum over all operators is right.
func (m *Metrics) NewInformer(
	listing cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	made := cache.NewSharedIndexInformer(listing, example, resync, indexers)
	if kind, err := apiutil.GVKForObject(example, scheme.Scheme); err == nil {
		m.mutex.Lock()
		m.informers = append(m.informers, informer{kind.Kind, made.GetStore(), made.HasSynced})
		m.mutex.Unlock()
	}
	return made
}

func (m *Metrics) collectCache(to chan<- prometheus.Metric) {
	m.mutex.Lock()
	informers := m.informers // which only grow
	m.mutex.Unlock()
	objects, ready := map[string]int{}, map[string]int{}
	since, leads := map[string]time.Time{}, false
	for _, informer := range informers {
		if !informer.hasSynced() {
			continue
		}
		objects[informer.kind] += len(informer.store.ListKeys())
		if !slices.Contains(m.collectors, informer.kind) {
			continue
		}
		leads = true
		for _, object := range informer.store.List() {
			collector, ok := object.(*unstructured.Unstructured)
			if !ok {
				continue // never: it is how the reconciler reads them
			}
			reason, changed := readinessOf(collector)
			ready[reason]++
			if first, found := since[reason]; reason != v1alpha1.ReasonAvailable && (!found || changed.Before(first)) {
				since[reason] = changed
			}
		}
	}
	for kind, count := range objects {
		to <- prometheus.MustNewConstMetric(cachedDesc, prometheus.GaugeValue, float64(count), kind)
	}
	for reason, first := range since {
		to <- prometheus.MustNewConstMetric(unreadySinceDesc, prometheus.GaugeValue, float64(first.Unix()), reason)
	}
	for reason, status := range statuses {
		if leads {
			to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, float64(ready[reason]), string(status), reason)
		}
	}
}

// readinessOf returns the reason of a Collector's condition Ready, and when its status last changed.
func readinessOf(collector *unstructured.Unstructured) (reason string, changed time.Time) {
	status, _, _ := unstructured.NestedFieldNoCopy(collector.Object, "status")
	fields, _ := status.(map[string]any)
	var parsed v1alpha1.CollectorStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &parsed); err != nil {
		parsed.Conditions = nil // its reconcile says why
	}
	for _, condition := range parsed.Conditions {
		if condition.Type == "Ready" && statuses[condition.Reason] == condition.Status {
			return condition.Reason, condition.LastTransitionTime.Time
		}
	}
	return unknown, collector.GetCreationTimestamp().Time
}
