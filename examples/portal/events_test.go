package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// reader reads a stream, as a browser does.
type reader struct {
	events chan event // closed when the stream ends
	close  func()
}

type event struct{ name, data string }

// open opens a stream of the tenant's namespace, and of others.
func open(t *testing.T, url string, others ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	namespaces := strings.Join(append(others, tenant), ",")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/collectors/"+namespaces+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // the goroutine below closes it
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("open the stream: %v, %v", response, err)
	}
	r := &reader{events: make(chan event), close: cancel}
	go func() {
		defer response.Body.Close()
		defer close(r.events)
		var e event
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "": // the end of an event, or a comment
				if e.name != "" {
					select {
					case r.events <- e:
					case <-ctx.Done():
					}
				}
				e = event{}
			}
		}
	}()
	return r
}

// next returns an event, which must have this name, and what it says of each Collector: its name and readiness.
func (r *reader) next(t *testing.T, name string) (says []string) {
	t.Helper()
	var e event
	NewWithT(t).Eventually(r.events).Should(Receive(&e), "an event %s", name)
	if e.name != name || strings.Contains(e.data, secret) {
		t.Fatalf("want an event %s without a configuration, got %+v", name, e)
	}
	data := e.data
	if name != "list" {
		data = "[" + data + "]"
	}
	var collectors []shown
	if err := json.Unmarshal([]byte(data), &collectors); err != nil {
		t.Fatal(err)
	}
	says = []string{}
	for _, c := range collectors {
		says = append(says, strings.TrimSpace(c.Name+" "+c.Ready+" "+c.Reason))
	}
	return says
}

// observe writes a status of the Collector gateway, as the operator would.
func observe(t *testing.T, ready corev1.ConditionStatus, reason string) {
	t.Helper()
	collector := get(t)
	before := collector.DeepCopy()
	collector.Status = v1alpha1.CollectorStatus{
		ObservedGeneration: collector.Generation,
		Conditions:         []v1alpha1.Condition{{Type: "Ready", Status: ready, Reason: reason}},
	}
	if err := admin.Status().Patch(t.Context(), collector, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func TestTheStreamTellsAsItHappens(t *testing.T) {
	g := NewWithT(t)
	stream := open(t, portalURL)
	tells := func(event string, want ...string) {
		t.Helper()
		says := stream.next(t, event)
		g.Expect(says).To(HaveExactElements(want))
	}
	tells("list")
	put(t, "gateway", valid())
	tells("changed", "gateway Unknown")
	observe(t, corev1.ConditionFalse, v1alpha1.ReasonProgressing)
	tells("changed", "gateway False Progressing")
	observe(t, corev1.ConditionTrue, v1alpha1.ReasonAvailable)
	tells("changed", "gateway True Available")

	changed := valid()
	changed.Configuration += "# changed\n"
	put(t, "gateway", changed)
	tells("changed", "gateway Unknown") // for what was observed is of the configuration before

	held := get(t)
	held.Finalizers = []string{"kube8.dev/test"}
	g.Expect(admin.Update(t.Context(), held)).To(Succeed())
	tells("changed", "gateway Unknown")
	code, answer := call(t, http.MethodDelete, "/collectors/"+tenant+"/gateway", nil)
	g.Expect(code).To(Equal(http.StatusNoContent), answer)
	tells("changed", "gateway Unknown Deleting")
	held = get(t)
	held.Finalizers = nil
	g.Expect(admin.Update(t.Context(), held)).To(Succeed())
	tells("deleted", "gateway Unknown Deleting")
}

func TestAReaderThatComesBackHasTheListAgain(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	put(t, "edge", valid())
	first := open(t, portalURL)
	g.Expect(first.next(t, "list")).To(HaveExactElements("edge Unknown", "gateway Unknown"))
	second := open(t, portalURL)
	g.Expect(second.next(t, "list")).To(HaveExactElements("edge Unknown", "gateway Unknown"))
	first.close()
	g.Eventually(first.events).Should(BeClosed())

	observe(t, corev1.ConditionTrue, v1alpha1.ReasonAvailable)
	g.Expect(second.next(t, "changed")).To(HaveExactElements("gateway True Available"), "the others go on")
	g.Expect(admin.Delete(t.Context(), named("edge"))).To(Succeed())
	g.Expect(second.next(t, "deleted")).To(HaveExactElements("edge Unknown"))
	g.Expect(open(t, portalURL).next(t, "list")).To(HaveExactElements("gateway True Available"))
}

func TestSeveralNamespacesAreOneList(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	edge := get(t)
	edge.ObjectMeta = metav1.ObjectMeta{Namespace: "tenant-initech", Name: "edge"}
	create(t, edge)
	stream := open(t, portalURL, "tenant-initech")
	g.Expect(stream.next(t, "list")).To(HaveExactElements("gateway Unknown", "edge Unknown"))
	g.Expect(admin.Delete(t.Context(), edge)).To(Succeed())
	g.Expect(stream.next(t, "deleted")).To(HaveExactElements("edge Unknown"))
	observe(t, corev1.ConditionTrue, v1alpha1.ReasonAvailable)
	g.Expect(stream.next(t, "changed")).To(HaveExactElements("gateway True Available"))
	stream.close()

	_, answer := call(t, http.MethodGet, "/collectors/tenant-initech,tenant-acme", nil)
	g.Expect(answer).To(And(ContainSubstring(`"namespace":"tenant-acme","name":"gateway"`), Not(ContainSubstring("edge"))))
	for _, path := range []string{"", "/events"} {
		code, answer := call(t, http.MethodGet, "/collectors/tenant-acme,tenant-globex"+path, nil)
		g.Expect(code).To(Equal(http.StatusForbidden), answer)
	}
	g.Eventually(func() int { return watches(t) }).Should(BeZero())
}

func TestHundredsOfReadersAreOneWatchAndNobodyWaitsForThem(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	before := watches(t)
	var all []*reader
	for range 300 {
		all = append(all, open(t, portalURL))
	}
	for _, stream := range all {
		g.Expect(stream.next(t, "list")).To(HaveExactElements("gateway Unknown"))
	}
	g.Expect(watches(t)).To(Equal(before + 1))
	began := time.Now()
	for range 50 {
		code, answer := call(t, http.MethodGet, "/collectors/"+tenant, nil)
		g.Expect(code).To(Equal(http.StatusOK), answer)
	}
	g.Expect(time.Since(began)).To(BeNumerically("<", 30*time.Second))
	observe(t, corev1.ConditionTrue, v1alpha1.ReasonAvailable)
	for _, stream := range all {
		g.Expect(stream.next(t, "changed")).To(HaveExactElements("gateway True Available"))
		stream.close()
	}
	g.Eventually(func() int { return watches(t) }).Should(Equal(before))
}

func TestAStreamEndsWithItsReader(t *testing.T) {
	g := NewWithT(t)
	before := watches(t)
	stream := open(t, portalURL)
	stream.next(t, "list")
	g.Eventually(func() int { return watches(t) }).Should(Equal(before + 1))
	stream.close()
	g.Eventually(func() int { return watches(t) }).Should(Equal(before))
}

// watches returns how many watches of Collectors the API server serves in the tenant's namespace.
func watches(t *testing.T) int {
	t.Helper()
	out, err := kubectl(t.Context(), "get", "--raw", "/metrics").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `resource="collectors"`) &&
			strings.Contains(line, `scope="namespace"`) {
			_, value, _ := strings.Cut(line, "} ")
			count, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	return 0
}

func TestThePortalStopsAtOnceAlthoughThereAreReaders(t *testing.T) {
	g := NewWithT(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, options{listen: address, kubeconfig: kubeconfig, hosts: "localhost"}) }()
	g.Eventually(func() error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	}).Should(Succeed())
	stream := open(t, "http://"+address)
	stream.next(t, "list")
	stop()
	g.Eventually(ended, grace/2).Should(Receive(BeNil()))
	g.Eventually(stream.events).Should(BeClosed())
}
