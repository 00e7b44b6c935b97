package flow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/cputime"
)

func recorded(tb testing.TB, vendor v1alpha1.FlowProfile, file string) *Sample {
	tb.Helper()
	page, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	defer page.Close()
	sample, err := readers[vendor].read(page, make([]byte, lineLength))
	if err != nil {
		tb.Fatal(err)
	}
	return sample
}

func TestEachProfileReadsAPageOfItsVendor(t *testing.T) {
	for file, want := range map[string]string{
		"OpenTelemetry-live-2.txt": "received 34, sent 34, failed 0, dropped 0, refused 0, queued 0, capacity 1000",
		"Alloy.txt":                "received 1730, sent 1640, failed 5, dropped 27, refused 3, queued 40, capacity 1000",
		"FluentBit.txt":            "received 1200, sent 1100, failed 12, dropped 40, refused 0, queued 0, capacity 0",
		"Vector.txt":               "received 900, sent 850, failed 2, dropped 7, refused 0, queued 43, capacity 500",
		"Telegraf-live-2.txt":      "received 54, sent 206, failed 0, dropped 0, refused 0, queued 0, capacity 10000",
		"Prometheus-live-2.txt":    "received 2842, sent 2500, failed 0, dropped 0, refused 0, queued 342, capacity 0",
		"VMAgent-live-2.txt":       "received 4120, sent 40, failed 0, dropped 0, refused 0, queued 0, capacity 0",
	} {
		vendor, _, _ := strings.Cut(strings.TrimSuffix(file, ".txt"), "-")
		v := recorded(t, v1alpha1.FlowProfile(vendor), file).values
		got := fmt.Sprintf("received %v, sent %v, failed %v, dropped %v, refused %v, queued %v, capacity %v",
			v[received], v[sent], v[failed], v[dropped], v[refused], v[queued], v[capacity])
		if got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

func TestAPageIsReadAsItsFormatSays(t *testing.T) {
	own := newReader(profile{prefix: "own_", names: [roles][]string{
		received: {"in"}, sent: {"out", "-retried"}, failed: {"retried"}, dropped: {`lost{kind="sink",type!="self"}`}, queued: {"waits", `delays{route="a!=b"}`},
	}})
	for _, row := range []struct{ name, page, want string }{
		{"series of a name are summed up", "in{a=\"1\"} 2\nin{a=\"2\"} 3\nin 1\n", "6 0 0 0 0"},
		{"with and without _total", "in_total 2\nout 3\n", "2 3 0 0 0"},
		{"a last line without an end counts", "in 2", "2 0 0 0 0"},
		{"comments count nothing", "# HELP in 2\n# TYPE in counter\nin 2\n", "2 0 0 0 0"},
		{"a longer name is another one", "in_bytes 2\nind 2\nin 1\n", "1 0 0 0 0"},
		{"a timestamp is no value", "in 2 1700000000000\n", "2 0 0 0 0"},
		{"a name after a minus is subtracted", "out 9\nretried 4\n", "0 5 4 0 0"},
		{"labels choose series", "lost{kind=\"sink\",type=\"http\"} 2\nlost{kind=\"sink\",type=\"self\"} 9\nlost{kind=\"source\"} 9\nlost 9\n", "0 0 0 2 0"},
		{"what looks like a negation in a label is none", "delays{route=\"a!=b\"} 2\ndelays{route=\"c\"} 9\n", "0 0 0 0 2"},
		{"a unit can follow a name", "in__spans__total{a=\"1\"} 2\n", "2 0 0 0 0"},
		{"a label is a whole one", "lost{component_kind=\"sink\"} 9\nlost{a=\"1\",kind=\"sink\",component_type=\"self\"} 2\n", "0 0 0 2 0"},
		{"a number that nothing can count up to counts nothing", "in 1e308\nin 2\n", "2 0 0 0 0"},
		{"a brace in a label ends nothing", "in{a=\"}\"} 2\n", "2 0 0 0 0"},
		{"an exemplar's value is not the counter's", "in_total{a=\"b\"} 500 # {trace_id=\"x\"} 1 1.5\nout_total 500 # {trace_id=\"x\"} 1\n", "500 500 0 0 0"},
		{"what looks like an exemplar in a label is none", "in{a=\"\\\"} 1 # {\"} 2\n", "2 0 0 0 0"},
		{"what is no number counts nothing", "in NaN\nin +Inf\nin -1\nin 1e3\nin x\nin\nin{a=\"\nwaits 0x1p4\n", "1000 0 0 0 16"},
		{"a collector that has done nothing shows other metrics", "own_up 1\n", "0 0 0 0 0"},
		{"lines can end as on Windows", "in 2\r\nout 2\r\n", "2 2 0 0 0"},
		{"a page of something else is none", "<html>\n<body>in here</body>\n", "none"},
		{"nothing is none", "", "none"},
		{"a line without an end is none", "in 1\n" + strings.Repeat("x", lineLength+1), "none"},
		{"more than 1 MiB is none", "in 1\n" + strings.Repeat("other 1\n", mostBytes/8), "none"},
		{"JSON is none", `{"in": 2}`, "none"},
	} {
		sample, err := own.read(strings.NewReader(row.page), make([]byte, lineLength))
		got := "none"
		if err == nil {
			got = strings.Trim(fmt.Sprint(sample.values[:refused], sample.values[queued]), "[]")
			got = strings.ReplaceAll(got, "]", "")
		} else if !errors.Is(err, errNoMetrics) {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// A tenant has both the names and the page.
func TestNoNamesAndNoPageCostMuchMore(t *testing.T) {
	label := `,b!="` + strings.Repeat("x", 60)
	var searched, plain [roles][]string
	for role := range roles {
		for i := range 8 { // as many as a Collector may have
			searched[role] = append(searched[role], fmt.Sprintf(`a{b!=""%[1]s1"%[1]s2",c%[2]d!=""}`, label, i))
			plain[role] = append(plain[role], "a")
		}
	}
	for _, row := range []struct {
		name, page string
		names      [roles][]string
		want       error
	}{
		{"long lines with what is nearly the label", strings.Repeat("a{"+strings.Repeat(`xb=""`, 3200)+"} 1\n", 64), searched, errNoMetrics},
		{"lines that are long and empty", strings.Repeat("a{"+strings.Repeat(" ", 16000)+"} 1\n", 64), searched, errNoMetrics},
		{"short lines", strings.Repeat("a 1\n", mostBytes/4), searched, errNoMetrics},
		{"a large page with all names", strings.Repeat("a{c=\"d\"} 1\n", 8000), plain, nil},
		{"a page of a real collector's size", strings.Repeat(`a{component="sink",instance="10.0.0.1:8888"} 1`+"\n", 500), searched, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			own, buffer := newReader(profile{names: row.names}), make([]byte, lineLength)
			began := cputime.Own()
			if _, err := own.read(strings.NewReader(row.page), buffer); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			if cost := cputime.Own() - began; cost > 500*time.Millisecond { // some 10 ms, and 5 s without any bound
				t.Errorf("it costs %s", cost)
			}
		})
	}
}

func TestReadingAPageAllocatesNothingForALine(t *testing.T) {
	buffer, text := make([]byte, lineLength), page(100)
	few := testing.AllocsPerRun(10, func() { _, _ = readers[v1alpha1.FlowOpenTelemetry].read(strings.NewReader(text), buffer) })
	text = page(2000)
	many := testing.AllocsPerRun(10, func() { _, _ = readers[v1alpha1.FlowOpenTelemetry].read(strings.NewReader(text), buffer) })
	if many != few {
		t.Errorf("%v allocations for a page of 2000 lines, and %v for one of 100", many, few)
	}
}

// page returns one as an OpenTelemetry Collector writes it, of so many lines.
func page(lines int) string {
	var text strings.Builder
	for i := range lines / 2 {
		fmt.Fprintf(&text, "otelcol_receiver_accepted_spans_total{receiver=\"otlp/%d\",service_name=\"otelcol\",transport=\"grpc\"} %d\n", i, i)
		fmt.Fprintf(&text, "otelcol_processor_batch_batch_send_size_bucket{processor=\"batch\",le=\"%d\"} 7\n", i)
	}
	return text.String()
}

// BenchmarkPage reads a page of 44 KB.
func BenchmarkPage(b *testing.B) {
	text, buffer := page(600), make([]byte, lineLength)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readers[v1alpha1.FlowOpenTelemetry].read(strings.NewReader(text), buffer); err != nil {
			b.Fatal(err)
		}
	}
	runtime.KeepAlive(text)
}

func TestNamesOfCollectorsChooseTheirProfile(t *testing.T) {
	for name, want := range map[string]v1alpha1.FlowProfile{
		"opentelemetry-collector": v1alpha1.FlowOpenTelemetry, "my-own": v1alpha1.FlowOpenTelemetry,
		"docker.io/otel/opentelemetry-collector-contrib": v1alpha1.FlowOpenTelemetry, "grafana/alloy": v1alpha1.FlowAlloy,
		"cr.fluentbit.io/fluent/fluent-bit": v1alpha1.FlowFluentBit, "timberio/vector": v1alpha1.FlowVector, "telegraf": v1alpha1.FlowTelegraf,
		"prom/prometheus": v1alpha1.FlowPrometheus, "victoriametrics/vmagent": v1alpha1.FlowVMAgent,
		"registry.example.com/otel/fluent-bit": v1alpha1.FlowFluentBit, "registry.example.com/hotel/vector": v1alpha1.FlowVector,
		"registry.example.com/prometheus/vmagent": v1alpha1.FlowVMAgent, "registry.example.com/vector/agent": v1alpha1.FlowVector,
	} {
		if got := profileOf(name, &v1alpha1.Flow{}); got != want {
			t.Errorf("%s has the profile %s, want %s", name, got, want)
		}
	}
}
