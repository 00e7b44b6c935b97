package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// newKubelet starts what answers the API server's requests for logs as a kubelet does: with the request's path and flags. It
// returns the name of its node.
func newKubelet(t *testing.T) string {
	t.Helper()
	return newKubeletOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "log of %s, follow %q, previous %q, tail %q", strings.TrimPrefix(r.URL.Path, "/containerLogs/"),
			r.URL.Query().Get("follow"), r.URL.Query().Get("previous"), r.URL.Query().Get("tailLines"))
		if bytes := r.URL.Query().Get("limitBytes"); bytes != "" {
			fmt.Fprintf(w, ", at most %q bytes", bytes)
		}
		fmt.Fprintln(w)
	})
}

// newKubeletOf starts a kubelet that answers requests for logs so, and returns the name of its node.
func newKubeletOf(t *testing.T, logs http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(logs)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "kubelet-"}}
	if err := plane.client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.client.Delete(context.WithoutCancel(t.Context()), node); err != nil {
			t.Error(err)
		}
	})
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	if err := plane.client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return node.Name
}

// podOn creates a pod with these labels on a node.
func podOn(t *testing.T, collector *v1alpha1.Collector, node, name string, labels map[string]string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "collector", Image: "collector"}}},
	}
	if err := plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func TestThePluginPrintsLogs(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.refuses("collector "+collector.Namespace+"/gateway has no pod;", "logs", "gateway")
	p.refuses("has no check that still has its pod", "logs", "gateway", "--check")
	p.refuses("there is no Collector agent", "logs", "agent")

	node := newKubelet(t)
	podOn(t, collector, node, "gateway-a", map[string]string{collectorLabel: "gateway"})
	podOn(t, collector, node, "gateway-b", map[string]string{collectorLabel: "gateway"})
	podOn(t, collector, node, "gateway-check-c", map[string]string{"kube8.dev/check": "gateway"})
	podOn(t, collector, node, "agent-d", map[string]string{collectorLabel: "agent"})
	line := func(pod, flags string) string {
		return fmt.Sprintf("[pod/%[1]s/collector] log of %[2]s/%[1]s/collector, %[3]s\n", pod, collector.Namespace, flags)
	}
	g.Expect(p.run("logs", "gateway")).To(Or(
		Equal(line("gateway-a", `follow "", previous "", tail "10"`)+line("gateway-b", `follow "", previous "", tail "10"`)),
		Equal(line("gateway-b", `follow "", previous "", tail "10"`)+line("gateway-a", `follow "", previous "", tail "10"`))))
	g.Expect(p.run("logs", "gateway", "-f", "--tail=3")).To(And(
		ContainSubstring(line("gateway-a", `follow "true", previous "", tail "3"`)), ContainSubstring(line("gateway-b", `follow "true", previous "", tail "3"`))))
	g.Expect(p.run("logs", "gateway", "--previous")).To(ContainSubstring(line("gateway-a", `follow "", previous "true", tail "10"`)))
	g.Expect(p.run("logs", "gateway", "--check")).To(Equal(line("gateway-check-c", `follow "", previous "", tail "10"`)))
	p.refuses("--tail must be", "logs", "gateway", "--tail=-7")
}

func TestThePluginRestartsPods(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.PodAnnotations = v1alpha1.Annotations{"example.com/kept": "yes"}
	create(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("restart", "gateway")).To(Equal("collector.kube8.dev/gateway restarted\n"))
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Annotations).To(And(
		HaveKey("kubectl.kubernetes.io/restartedAt"), HaveKeyWithValue("example.com/kept", "yes")))
	p.refuses("there is no Collector agent", "restart", "agent")
	p.run("pause", "gateway")
	p.refuses("is paused, so nothing would restart; first: kubectl collector resume gateway", "restart", "gateway")
}

func TestThePluginPausesAndResumes(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("resume", "gateway")).To(Equal("collector.kube8.dev/gateway is not paused already\n"))
	g.Expect(p.run("pause", "gateway")).To(Equal("collector.kube8.dev/gateway paused\n"))
	awaitPaused(t, collector, corev1.ConditionTrue)
	g.Expect(p.run("pause", "gateway")).To(Equal("collector.kube8.dev/gateway is paused already\n"))
	g.Expect(p.run("resume", "gateway")).To(Equal("collector.kube8.dev/gateway resumed\n"))
	awaitPaused(t, collector, corev1.ConditionFalse)
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Annotations).NotTo(HaveKey(v1alpha1.PausedAnnotation))
	p.refuses("there is no Collector agent", "pause", "agent")
}

func TestThePluginCompletesNames(t *testing.T) {
	t.Parallel()
	collector := install(t)
	other := newCollector(collector.Namespace, "agent")
	create(t, other)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	for _, command := range []string{
		"status", "why", "history", "rollback", "restart", "pause", "resume", "logs", "config get", "config set", "config edit", "config diff",
	} {
		arguments := append([]string{"__complete"}, strings.Fields(command)...)
		g.Expect(p.run(append(arguments, "")...)).To(HavePrefix("agent\ngateway\n:4\n"), command)
		g.Expect(p.run(append(arguments, "g")...)).To(HavePrefix("gateway\n:4\n"), command)
	}
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(2)) })
	for command, want := range map[string]string{
		"config get gateway --revision": "2\t\\w+ ago: replicas: 1 → 2\n1\t\\w+ ago: created\n:36\n", "rollback gateway --revision": "2\t.*\n1\t",
		"config edit gateway --file": "config.yaml\n:36\n", "create new --cluster": "prod-eu-1\n:36\n", "create new --mode": "deployment\ndaemonset\nstatefulset\n",
		"list --output": "wide\n", "why gateway -o": "json\nyaml\n",
		"preflight --collector": "opentelemetry-collector\n",
	} {
		g.Expect(p.run(append(append([]string{"__complete"}, strings.Fields(command)...), "")...)).To(MatchRegexp("^"+want), command)
	}
	g.Expect(p.run("__complete", "pause", "gateway", "--dry-run=")).To(HavePrefix("none\nserver\nclient\n"))
	g.Expect(p.run("__complete", "status", "-n", collector.Namespace[:len(collector.Namespace)-1])).To(ContainSubstring(collector.Namespace))
	g.Expect(p.run("completion", "bash")).To(ContainSubstring("kubectl-collector"))
}

func TestThePluginRendersWithoutACluster(t *testing.T) {
	t.Parallel()
	p, g := pluginIn(t, "default"), NewWithT(t)
	p.write("kubeconfig", "")
	p.write("config.yaml", config)
	text := p.run("create", "gateway", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "c", "--dry-run=client", "-o", "yaml")
	g.Expect(p.run("render", p.write("gateway.yaml", text))).To(ContainSubstring("kind: Deployment"))
	p.refuses("bad.yaml: Collector default/gateway: spec.tenat: unknown field", "render", p.write("bad.yaml", strings.Replace(text, "tenant:", "tenat:", 1)))
}
