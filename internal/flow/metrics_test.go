package flow

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func TestWhatWaitsIsOfPodsThatAnswer(t *testing.T) {
	w := newWatcher(nil, nil)
	last := &Sample{values: [roles]float64{queued: 2}}
	w.known["c"] = &entry{tenant: "a", memory: memory{pods: []pod{
		{uid: "answers", last: last},
		{uid: "did not answer once", last: last, silent: windows - 1},
		{uid: "answers no more", last: last, silent: windows},
		{uid: "has gone", last: last, absent: 1},
		{uid: "has not answered yet"},
	}}}
	const want = "# HELP kube8_flow_queued_items What waits to be sent in Collectors with spec.flow, by tenant.\n" +
		"# TYPE kube8_flow_queued_items gauge\nkube8_flow_queued_items{tenant=\"a\"} 4\n"
	if err := testutil.CollectAndCompare(w, strings.NewReader(want), "kube8_flow_queued_items"); err != nil {
		t.Error(err)
	}
}

func TestRatesAreNumbersWhateverTheClockDoes(t *testing.T) {
	for _, row := range []struct {
		name string
		at   time.Duration
		want float32
	}{
		{"time passes", 2 * Period, 2},
		{"no time passes", Period, 0},
		{"the time is an earlier one", Period / 2, 0},
	} {
		_, known := decide("", memory{}, []types.UID{"a"}, []answer{{uid: "a", sample: &Sample{}}}, Period)
		second := &Sample{values: [roles]float64{sent: 2 * Period.Seconds()}, total: 2 * Period.Seconds()}
		_, known = decide("", known, []types.UID{"a"}, []answer{{uid: "a", sample: second}}, row.at)
		if got := known.pods[0].rates[sent]; got != row.want {
			t.Errorf("%s: %v a second, want %v", row.name, got, row.want)
		}
	}
}

// A look's time is what has passed since the start, which no step of the clock changes.
func TestTimesAreSinceTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector := collectorWith("a", map[string]any{})
		w := newWatcher([]unstructured.Unstructured{*collector}, pods{podOf(collector, "10.0.0.1")})
		w.pages.Transport = roundTrip(func(*http.Request) {})
		go func() { _ = w.Start(t.Context()) }()
		<-time.After(Period + time.Second)
		known := w.entryOf(collector)
		if want := 2 * Period; known.looked != want || known.pods[0].read != want {
			t.Errorf("looked at %s and asked at %s after the start, want %s", known.looked, known.pods[0].read, want)
		}
		if known.isObserved = false; !w.Observed(collector).IsZero() {
			t.Error("observed before all verdicts are known")
		}
		if known.isObserved = true; !w.Observed(collector).Equal(time.Now().Add(-time.Second)) {
			t.Errorf("observed at %s, want a second before %s", w.Observed(collector), time.Now())
		}
	})
}
