//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const steadySpan = "a-steady-client"

// steadyClient sends requests, each on a connection of its own, to the address of a Collector's Service from inside the
// cluster. It is a Collector too: it forwards what it gets at once, without a queue, without trying again, and answers
// with what it was answered. So a request fails when the Service has failed, whatever proxy leads to the client.
type steadyClient struct {
	collector *v1alpha1.Collector
	names     []string // of the Collectors that a retrying client sends to
	cancel    context.CancelFunc
	ended     sync.WaitGroup
	mutex     sync.Mutex
	sent      int
	failures  []string
}

// newClient makes a steady client of a Collector and waits until a request has gone through it.
func newClient(t *testing.T, of *v1alpha1.Collector) *steadyClient {
	t.Helper()
	config := strings.Replace(printing("basic"), "{debug: {verbosity: basic}}", `{otlp_http: {
  endpoint: "`+serviceURL(t, of)+`", disable_keep_alives: true, timeout: 2s,
  retry_on_failure: {enabled: false}, sending_queue: {enabled: false}}}`, 1)
	return startClient(t, newCollector(of.Namespace, "client", strings.Replace(config, "[debug]", "[otlp_http]", 1)))
}

// rate is how many requests a second a retrying client sends to each Collector.
const rate = 200

// newRetryingClient makes a steady client of several Collectors that sends each of them requests of one span at that rate. It
// does what an exporter does if nobody tells it otherwise: it has a queue, and tries again what failed.
func newRetryingClient(t *testing.T, of []*v1alpha1.Collector) *steadyClient {
	t.Helper()
	var exporters, pipeline, names []string
	for _, collector := range of {
		name := "otlp_http/" + collector.Name
		exporters = append(exporters, name+`: {
  endpoint: "`+serviceURL(t, collector)+`", compression: none, timeout: 2s,
  retry_on_failure: {initial_interval: 500ms, max_interval: 2s, max_elapsed_time: 2m},
  sending_queue: {queue_size: 30000, batch: {sizer: items, min_size: 0, max_size: 1, flush_timeout: 1s}}}`)
		pipeline, names = append(pipeline, name), append(names, collector.Name)
	}
	config := strings.NewReplacer("{debug: {verbosity: basic}}", "{"+strings.Join(exporters, ", ")+"}",
		"[debug]", "["+strings.Join(pipeline, ", ")+"]",
		"\nservice:", "\nservice:\n  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 8888}}}}]}}",
	).Replace(printing("basic"))
	c := startClient(t, newCollector(of[0].Namespace, "client", config))
	c.names = names
	return c
}

// startClient starts a client, and waits until a request has gone through it.
func startClient(t *testing.T, collector *v1alpha1.Collector) *steadyClient {
	t.Helper()
	c := &steadyClient{collector: collector}
	create(t, c.collector)
	awaitReady(t, c.collector)
	NewWithT(t).Eventually(func() error { return send(t.Context(), c.collector, "first") }).Should(Succeed())
	return c
}

// start starts sending, 50 times a second. A retrying client gets as many spans each time as are due: the API server's proxy
// would not carry a request for each.
func (c *steadyClient) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c.cancel = cancel
	began := time.Now()
	c.ended.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		spans, due := []string{steadySpan}, 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if c.names != nil {
				before := due
				due = int(time.Since(began).Seconds() * rate)
				spans = slices.Repeat([]string{steadySpan}, due-before)
			}
			// A request that has begun is brought to its end.
			err := send(context.WithoutCancel(ctx), c.collector, spans...)
			c.mutex.Lock()
			c.sent++
			if err != nil {
				c.failures = append(c.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.StampMilli), err))
			}
			c.mutex.Unlock()
		}
	})
	t.Cleanup(func() { c.stop() })
}

// awaitMore waits until more requests were sent.
func (c *steadyClient) awaitMore(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return c.sent
	}
	NewWithT(t).Eventually(count).Should(BeNumerically(">=", count()+more), "requests")
}

// stop stops sending, and says how many requests there were and which of them failed.
func (c *steadyClient) stop() (sent int, failures []string) {
	c.cancel()
	c.ended.Wait()
	return c.sent, c.failures
}

// spansCounted is how a collector counts what its receivers took and what became of it in each exporter.
var spansCounted = regexp.MustCompile(`(?m)^otelcol_((?:receiver|exporter)_[a-z_]+)_spans(?:_total)?\{(?:exporter="otlp_http/([a-z-]+)")?[^}]*\} ([0-9.e+]+)$`)

// awaitAnswered waits until all that a retrying client has sent, and has stopped sending, was answered with success by each
// Collector. It returns how many requests each has had.
func (c *steadyClient) awaitAnswered(t *testing.T) (each int) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		text, err := cluster.CoreV1().Services(c.collector.Namespace).ProxyGet("http", c.collector.Name, "metrics", "metrics", nil).DoRaw(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		counted := map[string]string{}
		for _, found := range spansCounted.FindAllStringSubmatch(string(text), -1) {
			if found[3] != "0" {
				counted[strings.TrimSuffix(found[1]+" of "+found[2], " of ")] = found[3]
			}
		}
		want := map[string]string{"receiver_accepted": counted["receiver_accepted"]}
		for _, name := range c.names {
			want["exporter_sent of "+name] = counted["receiver_accepted"]
		}
		g.Expect(counted).To(Equal(want))
		each, err = strconv.Atoi(counted["receiver_accepted"])
		g.Expect(err).NotTo(HaveOccurred())
	}).WithTimeout(4*time.Minute).Should(Succeed(), "requests that were answered with success")
	return each
}
