//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// tormented is the configuration of a collector to which all happens that its metrics count: it takes telemetry, and sends
// some; a memory limiter refuses, and another one that is an extension, an exporter finds nobody, and the queue of another is full because
// its backend, %[3]s, never answers. %[4]s is what its metrics are called by.
const tormented = `
receivers:
  otlp: {protocols: {http: {endpoint: %[1]s}}}
  otlp/refused: {protocols: {http: {endpoint: %[2]s}}}
  otlp/full: {protocols: {http: {endpoint: %[5]s}}}
  otlp/limited: {protocols: {http: &limited {endpoint: %[6]s, middlewares: [{id: memory_limiter}]}, grpc: {<<: *limited, endpoint: %[7]s}}}
extensions:
  memory_limiter: {check_interval: 100ms, limit_mib: 1}
processors:
  memory_limiter: {check_interval: 100ms, limit_mib: 1000}
  memory_limiter/small: {check_interval: 100ms, limit_mib: 1}
exporters:
  debug: {}
  otlp_http/nobody: {endpoint: "http://127.0.0.1:1", retry_on_failure: {enabled: false}}
  otlp_http/slow: {endpoint: %[3]s, sending_queue: {queue_size: 1, num_consumers: 1}}
service:
  extensions: [memory_limiter]
  telemetry: {logs: {level: fatal}, metrics: {level: detailed, readers: [{pull: {exporter: {prometheus: %[4]s}}}]}}
  pipelines:
    traces: &taken {receivers: [otlp], processors: [memory_limiter], exporters: [debug, otlp_http/nobody]}
    metrics: *taken
    logs: *taken
    traces/refused: &refused {receivers: [otlp/refused], processors: [memory_limiter/small], exporters: [debug]}
    metrics/refused: *refused
    logs/refused: *refused
    traces/full: &full {receivers: [otlp/full], exporters: [otlp_http/slow]}
    metrics/full: *full
    logs/full: *full
    traces/limited: {receivers: [otlp/limited], exporters: [debug]}
`

// payloads are one span, one metric point and one log record.
var payloads = map[string]string{
	"traces": `{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a", "kind": 1, "traceId": "5b8efff798038103d269b633813fc60c",
		"spanId": "eee19b7ec3c1b174", "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}]}]}]}`,
	"metrics": `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a", "gauge": {"dataPoints": [{"asDouble": 1,
		"timeUnixNano": "1700000000000000000"}]}}]}]}]}`,
	"logs": `{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "a"}}]}]}]}`,
}

// The collector and Prometheus run on this machine: the question is what the one serves and the other makes of it.
func TestTheDashboardOfCollectorsShowsWhatARealCollectorCounts(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(slow.CloseClientConnections)
	var scraped []string
	// A configuration can ask for metrics with and without the ends of names that say type and unit. The default depends on the version.
	ends := map[string]string{"acme": ", without_type_suffix: false, without_units: false", "globex": ", without_type_suffix: true, without_units: true"}
	free := freeAddresses(t, 6*len(ends)+1)
	prometheus, free := free[0], free[1:]
	for tenant, names := range ends {
		taking, refusing, full, metrics, limited, calls := free[0], free[1], free[2], free[3], free[4], free[5]
		free = free[6:]
		host, port, _ := net.SplitHostPort(metrics)
		config := fmt.Sprintf(tormented, taking, refusing, slow.URL, fmt.Sprintf("{host: %s, port: %s%s}", host, port, names), full,
			limited, calls)
		runHere(t, "bin/collector/otelcol", "--config="+written(t, config))
		go sendUntilDone(t.Context(), taking, refusing, full, limited)
		go callUntilDone(t.Context(), calls)
		scraped = append(scraped, fmt.Sprintf("{targets: [%q], labels: {namespace: n, kube8_dev_collector: c, kube8_dev_tenant_reference: %s}}",
			metrics, tenant))
	}
	config := "scrape_configs: [{job_name: j, scrape_interval: 500ms, scrape_timeout: 500ms, static_configs: [" + strings.Join(scraped, ", ") + "]}]"
	runHere(t, "prometheus", "--config.file="+written(t, config), "--web.listen-address="+prometheus, "--storage.tsdb.path="+t.TempDir())

	for title, query := range queriesOf(t, "config/grafana/collectors.json") {
		for _, signal := range []string{"spans", "metric_points", "log_records"} {
			query := strings.NewReplacer("${signal}", signal, "$signal", signal, "$__rate_interval", "10s", "$tenant", "acme|globex",
				"$namespace", ".+", "$collector", ".+").Replace(query)
			NewWithT(t).Eventually(func() (map[string]bool, error) { return tenantsIn(t.Context(), prometheus, query) }).
				Should(And(HaveKey("acme"), HaveKey("globex")), "%s: %s", title, query)
		}
	}
}

// written returns the name of a new file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// freeAddresses chooses all addresses before it gives one of them back, so that none is chosen twice.
func freeAddresses(t *testing.T, count int) (found []string) {
	t.Helper()
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		found = append(found, listener.Addr().String())
	}
	return found
}

// runHere runs a program on this machine until the test ends.
func runHere(t *testing.T, program string, args ...string) {
	t.Helper()
	var printed strings.Builder
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s printed:\n%s", program, printed.String())
		}
	})
}

// sendUntilDone sends telemetry to some addresses. Answers do not matter: the collector counts what it refuses.
func sendUntilDone(ctx context.Context, addresses ...string) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, address := range addresses {
			for signal, payload := range payloads {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/"+signal, strings.NewReader(payload))
				if err != nil {
					return
				}
				request.Header.Set("Content-Type", "application/json")
				if answer, err := http.DefaultClient.Do(request); err == nil {
					answer.Body.Close()
				}
			}
		}
	}
}

// callUntilDone calls a gRPC server with an empty message. Answers do not matter.
func callUntilDone(ctx context.Context, address string) {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	caller := http.Client{Transport: &http.Transport{Protocols: protocols}}
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
		message := strings.NewReader("\x00\x00\x00\x00\x00") // not compressed, of no bytes
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+method, message)
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("TE", "trailers")
		if answer, err := caller.Do(request); err == nil {
			answer.Body.Close()
		}
	}
}

// queriesOf returns the queries of a dashboard's panels by what they are called there.
func queriesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	content, err := os.ReadFile(file)
	if err := errors.Join(err, json.Unmarshal(content, &dashboard)); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found[panel.Title+" "+target.RefID] = target.Expr
		}
	}
	if len(found) < 11 {
		t.Fatalf("found only %d queries", len(found))
	}
	return found
}

// tenantsIn returns the tenants of which a query tells a number above 0.
func tenantsIn(ctx context.Context, prometheus, query string) (map[string]bool, error) {
	address := "http://" + prometheus + "/api/v1/query?query=" + url.QueryEscape(query)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var result struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil || result.Error != "" {
		return nil, errors.Join(err, errors.New(result.Error))
	}
	tenants := map[string]bool{}
	for _, series := range result.Data.Result {
		if series.Value[1] != "0" && series.Value[1] != "NaN" {
			tenants[series.Metric["kube8_dev_tenant_reference"]] = true
		}
	}
	return tenants, nil
}
