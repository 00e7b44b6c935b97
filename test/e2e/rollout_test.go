//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 3.

func TestAChangedConfigurationIsServedWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Replicas = ptr.To[int32](2)
	create(t, collector)
	client := newClient(t, collector)
	awaitReady(t, collector)
	old := podsOf(t, collector)

	client.start(t)
	client.awaitMore(t, 50)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("detailed")) })
	awaitReady(t, collector)
	for _, pod := range old {
		awaitGone(t, &pod)
	}
	client.awaitMore(t, 50)
	sent, failures := client.stop()
	t.Logf("%d requests, %d failures", sent, len(failures))

	g := NewWithT(t)
	g.Expect(failures).To(BeEmpty(), "failures among %d requests", sent)
	pods := podsOf(t, collector)
	g.Expect(pods).To(HaveLen(2))
	for _, pod := range pods {
		g.Eventually(func() (string, error) { return logs(t.Context(), pod) }).Should(ContainSubstring(steadySpan))
	}
}

func TestAConfigurationThatIsOnlyEncodedAnewRollsNoPods(t *testing.T) {
	t.Parallel()
	config := printing("basic")
	for len(config)%3 == 0 {
		config += "\n"
	}
	collector := newCollector(newNamespace(t, "restricted"), "gateway", config)
	create(t, collector)
	awaitReady(t, collector)
	before, pods := get(t, collector, &appsv1.Deployment{}), podsOf(t, collector)

	// The last bits before the padding mean nothing. The annotation shows that the operator has seen the change.
	encoded := []byte(base64.StdEncoding.EncodeToString([]byte(config)))
	encoded[len(strings.TrimRight(string(encoded), "="))-1]++
	patch := `{"spec": {"collector": {"configuration": "` + string(encoded) + `"}, "service": {"annotations": {"example.com/seen": "yes"}}}}`
	if err := cluster.Patch(t.Context(), collector, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Eventually(func() map[string]string { return get(t, collector, &corev1.Service{}).Annotations }).Should(HaveKey("example.com/seen"))
	awaitReady(t, collector)

	after := get(t, collector, &appsv1.Deployment{})
	g.Expect(after.Generation).To(Equal(before.Generation))
	g.Expect(names(podsOf(t, collector))).To(Equal(names(pods)))
}

func names(pods []corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

const steadySpan = "a-steady-client"

// steadyClient sends requests, each on a connection of its own, to the address of a Collector's Service from inside the
// cluster. It is a Collector too: it forwards what it gets at once, without a queue, without trying again, and answers
// with what it was answered. So a request fails when the Service has failed, whatever proxy leads to the client.
type steadyClient struct {
	collector *v1alpha1.Collector
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
	c := &steadyClient{collector: newCollector(of.Namespace, "client", strings.Replace(config, "[debug]", "[otlp_http]", 1))}
	create(t, c.collector)
	awaitReady(t, c.collector)
	NewWithT(t).Eventually(func() error { return send(t.Context(), c.collector, "first") }).Should(Succeed())
	return c
}

// start starts sending, 50 requests a second.
func (c *steadyClient) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c.cancel = cancel
	c.ended.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// A request that has begun is brought to its end.
			err := send(context.WithoutCancel(ctx), c.collector, steadySpan)
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
