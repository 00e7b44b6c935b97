package integration

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// secretLine is of a page, and has the known word, which must be in no status, event or log.
const secretLine = "otelcol_exporter_sent_log_records{exporter=\"" + secret + "\"} 0\n"

// fakePages serves a page at a loopback address of its own, and returns its port.
func fakePages(t *testing.T, ip string, answer http.HandlerFunc) (port int32) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, number, _ := net.SplitHostPort(listener.Addr().String())
	parsed, _ := strconv.ParseInt(number, 10, 32)
	return int32(parsed)
}

// watched installs a Collector whose flow is watched, with a pod that is ready at an address.
func watched(t *testing.T, ip string, port int32) *v1alpha1.Collector {
	t.Helper()
	collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Flow = &v1alpha1.Flow{Port: port} })
	becomeReady(t, collector)
	servingAt(t, collector, ip)
	return collector
}

// servingAt creates a pod as the Deployment's ReplicaSet does, which is ready.
func servingAt(t *testing.T, collector *v1alpha1.Collector, ip string) *corev1.Pod {
	t.Helper()
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: collector.Namespace, GenerateName: collector.Name + "-5d4f-",
			Labels: map[string]string{collectorLabel: collector.Name, "pod-template-hash": "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: collector.Name + "-5d4f", UID: "1", Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "collector", Image: "collector"}}},
	}
	if err := plane.client.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	made.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if err := plane.client.Status().Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made
}

func awaitFlow(t *testing.T, collector *v1alpha1.Collector, status corev1.ConditionStatus, reason string) {
	t.Helper()
	NewWithT(t).Eventually(func() v1alpha1.Condition { return condition(t, collector, v1alpha1.DataFlowing) }).
		Should(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", Not(BeEmpty()))))
}

func TestADeadBackendIsToldAndItsRecovery(t *testing.T) {
	t.Parallel()
	const ip = "127.77.0.1"
	var in, out atomic.Int64
	var isDead atomic.Bool
	port := fakePages(t, ip, func(w http.ResponseWriter, _ *http.Request) {
		in.Add(10)
		if !isDead.Load() {
			out.Store(in.Load())
		}
		fmt.Fprintf(w, "otelcol_receiver_accepted_spans_total %d\notelcol_exporter_sent_spans_total %d\notelcol_exporter_queue_size %d\n%s",
			in.Load(), out.Load(), in.Load()-out.Load(), secretLine)
	})
	collector := watched(t, ip, port)
	awaitFlow(t, collector, "True", v1alpha1.ReasonFlowing)

	before := get(t, collector, "", &v1alpha1.Collector{}).ResourceVersion
	since := plane.audit.mark(t)
	asked := in.Load()
	NewWithT(t).Eventually(in.Load).Should(BeNumerically(">", asked+30), "the page is read again and again")
	if after := get(t, collector, "", &v1alpha1.Collector{}).ResourceVersion; after != before {
		t.Error("a Collector whose data flows on is written")
	}
	if writes := plane.audit.writes(t, since, collector.Namespace); len(writes) > 0 {
		t.Errorf("a Collector whose data flows on costs %v", writes)
	}

	isDead.Store(true)
	awaitFlow(t, collector, "False", v1alpha1.ReasonExportFails)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("is ready"), ContainSubstring("DataFlowing is False, for "),
		ContainSubstring("`ExportFails`: The collector sends nothing."), ContainSubstring("kubectl collector logs gateway -n "+collector.Namespace)))
	g.Expect(p.run("status", "gateway")).To(And(MatchRegexp(`Data +ExportFails: nothing is sent`), ContainSubstring("Next: Correct address, credentials or certificate")))
	g.Expect(p.run("list", "-o", "wide")).To(MatchRegexp(`FLOWING +MESSAGE\n.* ExportFails `))
	isDead.Store(false)
	awaitFlow(t, collector, "True", v1alpha1.ReasonFlowing)

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Flow = nil })
	NewWithT(t).Eventually(func() v1alpha1.Condition { return condition(t, collector, v1alpha1.DataFlowing) }).Should(BeZero())
	asked = in.Load()
	NewWithT(t).Consistently(in.Load, 3*time.Second).Should(BeNumerically("<=", asked+10), "without spec.flow nobody reads the page")
}

func TestPodsThatGiveNoMetricsAreTold(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ip     string
		answer http.HandlerFunc
		reason string
	}{
		"no traffic": {"127.77.1.1", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "otelcol_process_uptime 1\n") }, v1alpha1.ReasonNoTraffic},
		"garbage":    {"127.77.1.2", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, secret) }, v1alpha1.ReasonNoMetrics},
		"a page that never ends": {"127.77.1.3", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, secretLine)
			}
		}, v1alpha1.ReasonNoMetrics},
		"a refused connection": {"127.77.1.4", nil, v1alpha1.ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := int32(1)
			if row.answer != nil {
				port = fakePages(t, row.ip, row.answer)
			}
			awaitFlow(t, watched(t, row.ip, port), "Unknown", row.reason)
		})
	}
}

// Not parallel: the operator brings a change, by another default registry.
func TestAChangeByTheOperatorThatStopsDataHolds(t *testing.T) {
	const mirror = "mirror.example.com/"
	g := NewWithT(t)
	w := newWave(t, map[string]map[string]string{"a-first": ring("0"), "b-next": ring("1")})
	var stopped atomic.Bool
	pods := map[string]*corev1.Pod{}
	for name, ip := range map[string]string{"a-first": "127.77.2.1", "b-next": "127.77.2.2"} {
		var in, out atomic.Int64
		port := fakePages(t, ip, func(rw http.ResponseWriter, _ *http.Request) {
			in.Add(10)
			if name != "a-first" || !stopped.Load() {
				out.Store(in.Load())
			}
			fmt.Fprintf(rw, "otelcol_receiver_accepted_spans_total %d\notelcol_exporter_sent_spans_total %d\n", in.Load(), out.Load())
		})
		change(t, w.fleet[name], func(c *v1alpha1.Collector) { c.Spec.Flow = &v1alpha1.Flow{Port: port} })
		pods[name] = servingAt(t, w.fleet[name], ip)
		awaitFlow(t, w.fleet[name], "True", v1alpha1.ReasonFlowing)
	}
	w.mutex.Lock()
	w.broken = mirror // until the new pod is there
	w.mutex.Unlock()
	w.bring(t, mirror, "--rollout-budget=1", "--rollout-deadline=8s", "--rollout-flow")
	g.Eventually(func() []string { return w.have(t, mirror) }).Should(ConsistOf("a-first"))
	stopped.Store(true)
	servingAt(t, w.fleet["a-first"], "127.77.2.1")
	g.Expect(plane.client.Delete(t.Context(), pods["a-first"], client.GracePeriodSeconds(0))).To(Succeed())
	w.mutex.Lock()
	w.broken = ""
	w.mutex.Unlock()
	awaitReady(t, w.fleet["a-first"], "True", "Available", "1/1")
	awaitFlow(t, w.fleet["a-first"], "False", v1alpha1.ReasonAllDropped)
	g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="overdue"}`) }).Should(BeEquivalentTo(1))
	g.Expect(condition(t, w.fleet["a-first"], v1alpha1.UpdatePending).Reason).To(Equal(v1alpha1.ReasonRollingOut))
	g.Expect(w.have(t, mirror)).To(ConsistOf("a-first"), "the change goes no further")

	stopped.Store(false)
	w.awaitReady(t, mirror)
}
