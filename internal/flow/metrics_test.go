package flow

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
)

func TestMetricsNameAHundredTenants(t *testing.T) {
	w := newWatcher(nil, nil)
	for i := range 120 {
		uid := types.UID(strconv.Itoa(i))
		p := pod{uid: uid, rates: [queued]float32{received: float32(i), sent: 1}, last: &Sample{values: [roles]float64{queued: 2}}}
		w.known[uid] = &entry{tenant: fmt.Sprintf("tenant-%03d", i), memory: memory{pods: []pod{p}}}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w)
	if got := testutil.CollectAndCount(w, "kube8_flow_queued_items"); got != mostTenants+1 {
		t.Errorf("%d tenants have series", got)
	}
	var want strings.Builder
	want.WriteString("# HELP kube8_flow_queued_items What waits to be sent in Collectors with spec.flow, by tenant.\n# TYPE kube8_flow_queued_items gauge\n" +
		"kube8_flow_queued_items{tenant=\"_others\"} 40\n")
	for i := range mostTenants {
		fmt.Fprintf(&want, "kube8_flow_queued_items{tenant=\"tenant-%03d\"} 2\n", i+20)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want.String()), "kube8_flow_queued_items"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
