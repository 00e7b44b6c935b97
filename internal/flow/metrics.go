package flow

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// mostTenants is how many tenants have series of their own: those with most data. All others share those of the tenant others, whose
	// name no tenant can have.
	mostTenants = 100
	others      = "_others"
)

var (
	rateDesc = prometheus.NewDesc("kube8_flow_items_per_second",
		"What Collectors with spec.flow receive, send, fail to send, drop and refuse, by tenant.", []string{"tenant", "flow"}, nil)
	queuedDesc = prometheus.NewDesc("kube8_flow_queued_items",
		"What waits to be sent in Collectors with spec.flow, by tenant.", []string{"tenant"}, nil)
)

// flows are the values of the label flow.
var flows = [queued]string{"received", "sent", "failed", "dropped", "refused"}

// Describe sends the descriptions of all metrics.
func (*Watcher) Describe(to chan<- *prometheus.Desc) {
	to <- rateDesc
	to <- queuedDesc
}

// Collect sends the values of all metrics, as of the last looks.
func (w *Watcher) Collect(to chan<- prometheus.Metric) {
	sums := map[string][capacity]float64{}
	w.mutex.Lock()
	for _, of := range w.known {
		sum := sums[of.tenant]
		for _, pod := range of.pods {
			for r := range queued {
				sum[r] += float64(pod.rates[r])
			}
			if pod.last != nil && pod.absent == 0 && pod.silent < windows { // or else it is not known any more
				sum[queued] += pod.last.values[queued]
			}
		}
		sums[of.tenant] = sum
	}
	w.mutex.Unlock()
	tenants := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b][received]+sums[b][sent], sums[a][received]+sums[a][sent]), cmp.Compare(a, b))
	})
	for _, tenant := range tenants[min(mostTenants, len(tenants)):] {
		sum := sums[others]
		for r := range capacity {
			sum[r] += sums[tenant][r]
		}
		sums[others] = sum
		delete(sums, tenant)
	}
	for tenant, sum := range sums {
		for r, name := range flows {
			to <- prometheus.MustNewConstMetric(rateDesc, prometheus.GaugeValue, sum[r], tenant, name)
		}
		to <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, sum[queued], tenant)
	}
}
