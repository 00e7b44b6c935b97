package metrics

import (
	"slices"
	"sync"
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
	flowingDesc = prometheus.NewDesc("kube8_flow_collectors",
		"Collectors with spec.flow by status and reason of their condition DataFlowing.", []string{"status", "reason"}, nil)
	baseRefusedDesc = prometheus.NewDesc("kube8_base_refused_collectors",
		"Collectors that keep the version of a base that they have deployed, because the base is refused.", nil, nil)
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
	v1alpha1.ReasonChecking:      corev1.ConditionFalse,
	v1alpha1.ReasonCheckFailed:   corev1.ConditionFalse,
	v1alpha1.ReasonProving:       corev1.ConditionFalse,
	v1alpha1.ReasonCanaryPaused:  corev1.ConditionFalse,
	v1alpha1.ReasonRolledBack:    corev1.ConditionFalse,
	v1alpha1.ReasonReleaseFailed: corev1.ConditionFalse,
	v1alpha1.ReasonPaused:        corev1.ConditionUnknown,
	unknown:                      corev1.ConditionUnknown,
}

// flows has the status that goes with each reason of the condition DataFlowing.
var flows = map[string]corev1.ConditionStatus{
	v1alpha1.ReasonFlowing:       corev1.ConditionTrue,
	v1alpha1.ReasonQueueFilling:  corev1.ConditionTrue,
	v1alpha1.ReasonExportFails:   corev1.ConditionFalse,
	v1alpha1.ReasonAllDropped:    corev1.ConditionFalse,
	v1alpha1.ReasonPartlyDropped: corev1.ConditionFalse,
	v1alpha1.ReasonRefusing:      corev1.ConditionFalse,
	v1alpha1.ReasonNoTraffic:     corev1.ConditionUnknown,
	v1alpha1.ReasonNoMetrics:     corev1.ConditionUnknown,
	v1alpha1.ReasonUnreachable:   corev1.ConditionUnknown,
}

// Cache is a prometheus.Collector of what the informers of a manager's cache have. The zero value is ready for use.
type Cache struct {
	mutex     sync.Mutex
	informers []informer
}

type informer struct {
	cache.SharedIndexInformer
	kind string
}

// NewInformer makes an informer whose objects are counted; it is for the options of the manager's cache.
func (c *Cache) NewInformer(
	listing cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	made := cache.NewSharedIndexInformer(listing, example, resync, indexers)
	if kind, err := apiutil.GVKForObject(example, scheme.Scheme); err == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.informers = slices.DeleteFunc(c.informers, func(i informer) bool { return i.IsStopped() }) // of APIs that the cluster no longer has
		c.informers = append(c.informers, informer{made, kind.Kind})
	}
	return made
}

// Describe sends the descriptions of all metrics.
func (*Cache) Describe(to chan<- *prometheus.Desc) {
	to <- readyDesc
	to <- unreadySinceDesc
	to <- flowingDesc
	to <- baseRefusedDesc
	to <- cachedDesc
}

// Collect sends the values of all metrics, as of now.
func (c *Cache) Collect(to chan<- prometheus.Metric) {
	baseRefused := 0
	cached, ready, flowing, unreadySince := map[string]int{}, map[string]int{}, map[string]int{}, map[string]time.Time{}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, informer := range c.informers {
		if !informer.HasSynced() || informer.IsStopped() {
			continue
		}
		objects := informer.GetStore().List()
		cached[informer.kind] += len(objects)
		for _, object := range objects {
			collector, ok := object.(*unstructured.Unstructured)
			if !ok {
				break // an informer of something else, which is typed or metadata
			}
			reason, changed := readinessOf(collector)
			ready[reason]++
			if collector.GetDeletionTimestamp() == nil { // of one that goes, data is no longer looked at
				flowing[v1alpha1.ConditionOf(collector, v1alpha1.DataFlowing).Reason]++
			}
			if v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason == v1alpha1.ReasonBaseRefused {
				baseRefused++
			}
			if first, found := unreadySince[reason]; reason != v1alpha1.ReasonAvailable && (!found || changed.Before(first)) {
				unreadySince[reason] = changed
			}
		}
	}
	to <- prometheus.MustNewConstMetric(baseRefusedDesc, prometheus.GaugeValue, float64(baseRefused))
	for kind, count := range cached {
		to <- prometheus.MustNewConstMetric(cachedDesc, prometheus.GaugeValue, float64(count), kind)
	}
	for reason, status := range statuses {
		to <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, float64(ready[reason]), string(status), reason)
	}
	for reason, status := range flows {
		to <- prometheus.MustNewConstMetric(flowingDesc, prometheus.GaugeValue, float64(flowing[reason]), string(status), reason)
	}
	for reason, first := range unreadySince {
		to <- prometheus.MustNewConstMetric(unreadySinceDesc, prometheus.GaugeValue, float64(first.Unix()), reason)
	}
}

// readinessOf returns the reason of a Collector's condition Ready, and when its status last changed.
func readinessOf(collector *unstructured.Unstructured) (reason string, changed time.Time) {
	ready := v1alpha1.ConditionOf(collector, "Ready")
	if expected, known := statuses[ready.Reason]; known && expected == ready.Status {
		return ready.Reason, ready.LastTransitionTime.Time
	}
	return unknown, collector.GetCreationTimestamp().Time
}
