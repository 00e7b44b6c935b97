//go:build e2e

package e2e

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 16: collectors of other vendors, as Debian has them, take telemetry in, and it comes out at a backend.

func TestSyslogByTCPAndUDPReachesTheArchive(t *testing.T) {
	t.Parallel()
	sender := readSample(t, "config/samples/kube8_v1alpha1_collector_syslog.yaml")
	sender.Namespace, sender.Spec.Replicas = newNamespace(t, "restricted"), new(int32(1))
	archive := sender.DeepCopy()
	archive.Name, archive.Spec.Service = "archive", nil
	archive.Spec.Collector.ConfigurationText = `@version: 3.38
options { keep-hostname(yes); stats-freq(0); };
log { source { network(transport("tcp") ip("0.0.0.0") port(5514)); }; destination { file("/dev/stdout"); }; };
`
	create(t, archive)
	service := serviceOf(t, archive)
	sender.Spec.Env = []corev1.EnvVar{{Name: "ARCHIVE_HOST", Value: service.Spec.ClusterIP}, {Name: "ARCHIVE_PORT", Value: "514"}}
	create(t, sender)
	awaitReady(t, archive)
	awaitReady(t, sender)

	address := serviceOf(t, sender).Spec.ClusterIP
	for transport, flag := range map[string]string{"tcp": "--stream", "udp": "--dgram"} {
		speak(t, sender, "switch-"+transport, "/usr/bin/loggen", "--inet", flag, "--number=3", "--rate=3", "--size=200", address, "514")
	}
	// What loggen sends begins with the program's name and a sequence number.
	NewWithT(t).Eventually(func() (int, error) {
		printed, err := logs(t.Context(), podsOf(t, archive)[0])
		return strings.Count(printed, "prg00000"), err
	}).Should(BeNumerically(">=", 6))
	exposed := serviceOf(t, sender).Spec
	if len(exposed.Ports) != 2 || exposed.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("the load balancer has other ports than those of syslog: %+v", exposed.Ports)
	}
}

func TestAPrometheusAgentWritesWhatItScrapesToABackend(t *testing.T) {
	t.Parallel()
	newPrometheus := func(namespace, name, config string, args ...string) *v1alpha1.Collector {
		collector := newCollector(namespace, name, config)
		spec := &collector.Spec
		spec.Collector.Name, spec.Collector.Version = "docker.io/prom/prometheus", "v2.42.0"
		spec.Command = []string{"/usr/bin/prometheus"}
		spec.Args = append([]string{"--config.file=/etc/collector/config.yaml", "--web.listen-address=:9090"}, args...)
		spec.Ports = map[string]v1alpha1.Port{"metrics": {Port: 9090}}
		spec.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/-/ready", Port: intstr.FromString("metrics")},
		}}
		return collector
	}
	namespace := newNamespace(t, "restricted")
	backend := newPrometheus(namespace, "backend", "global: {}", "--web.enable-remote-write-receiver", "--storage.tsdb.path=/tmp/data")
	create(t, backend)
	// What it counts is that the backend is asked for its own metrics.
	address := serviceOf(t, backend).Spec.ClusterIP + ":9090"
	agent := newPrometheus(namespace, "agent", `
global: {scrape_interval: 1s, scrape_timeout: 1s, external_labels: {tenant: acme}}
scrape_configs: [{job_name: backend, static_configs: [{targets: ["`+address+`"]}]}]
remote_write: [{url: "http://`+address+`/api/v1/write"}]
`, "--enable-feature=agent", "--storage.agent.path=/tmp/data")
	create(t, agent)
	awaitReady(t, backend)
	awaitReady(t, agent)

	query := `prometheus_http_requests_total{handler="/metrics",tenant="acme",job="backend"} > 0`
	NewWithT(t).Eventually(func() (string, error) {
		answer, err := cluster.CoreV1().RESTClient().Get().Namespace(namespace).Resource("services").Name(backend.Name+":metrics").
			SubResource("proxy").Suffix("api/v1/query").Param("query", query).DoRaw(t.Context())
		return string(answer), err
	}).Should(ContainSubstring(`"tenant":"acme"`), "the answer to %s", url.QueryEscape(query))
}

// serviceOf returns a Collector's Service, once there is one.
func serviceOf(t *testing.T, collector *v1alpha1.Collector) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	NewWithT(t).Eventually(func() error { return cluster.Get(t.Context(), client.ObjectKeyFromObject(collector), service) }).Should(Succeed())
	return service
}

// speak runs a program of a Collector's image in a pod beside the Collector's, until it has ended well.
func speak(t *testing.T, collector *v1alpha1.Collector, name string, command ...string) {
	t.Helper()
	like := podsOf(t, collector)[0]
	container := corev1.Container{
		Name: "speaker", Image: like.Spec.Containers[0].Image, ImagePullPolicy: corev1.PullNever, Command: command,
		SecurityContext: like.Spec.Containers[0].SecurityContext,
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, RestartPolicy: corev1.RestartPolicyOnFailure, SecurityContext: like.Spec.SecurityContext,
		},
	}
	create(t, pod)
	NewWithT(t).Eventually(func() corev1.PodPhase { return get(t, pod, &corev1.Pod{}).Status.Phase }).
		Should(Equal(corev1.PodSucceeded), "pod %s", name)
}

// Scenario 17.

func TestAnAgentWithPresetsTellsOfNodeAndPods(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "privileged")
	speaker := newCollector(namespace, "speaker", printing("basic"))
	backend := newCollector(namespace, "backend", `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}}}}
exporters: {debug: {verbosity: detailed}}
service:
  extensions: [health_check]
  pipelines: {metrics: &all {receivers: [otlp], exporters: [debug]}, logs: *all}
`)
	create(t, speaker)
	create(t, backend)
	agent := newCollector(namespace, "agent", `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers:
  hostmetrics: {root_path: /hostfs, collection_interval: 5s, scrapers: {memory: {}, filesystem: {}}}
  file_log:
    include: [/var/log/pods/`+namespace+`_speaker-*/*/*.log]
    start_at: beginning
    include_file_path: true
    operators: [{type: container}]
processors:
  k8s_attributes:
    filter: {namespace: `+namespace+`, node_from_env_var: K8S_NODE_NAME}
    pod_association: [{sources: [{from: resource_attribute, name: k8s.pod.uid}]}]
exporters: {otlp_http: {endpoint: "`+serviceURL(t, backend)+`"}}
service:
  extensions: [health_check]
  pipelines:
    metrics: {receivers: [hostmetrics], exporters: [otlp_http]}
    logs: {receivers: [file_log], processors: [k8s_attributes], exporters: [otlp_http]}
`)
	agent.Spec.Mode = v1alpha1.ModeDaemonSet
	agent.Spec.PodSecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(false)}
	agent.Spec.Presets = &v1alpha1.Presets{
		Logs:                 &v1alpha1.LogsPreset{Enabled: true},
		HostMetrics:          &v1alpha1.HostMetricsPreset{Enabled: true},
		KubernetesAttributes: &v1alpha1.KubernetesPreset{Enabled: true, Namespaces: []string{namespace}},
	}
	create(t, agent)
	awaitReady(t, agent)

	g := NewWithT(t)
	presets := func() (found v1alpha1.Condition) {
		conditions := get(t, agent, &v1alpha1.Collector{}).Status.Conditions
		if at := slices.IndexFunc(conditions, func(c v1alpha1.Condition) bool { return c.Type == v1alpha1.PresetsReady }); at >= 0 {
			found = conditions[at]
		}
		return found
	}
	g.Eventually(presets).Should(HaveField("Reason", v1alpha1.ReasonRoleMissing))
	_, bind, _ := strings.Cut(presets().Message, "config/collector-roles: ")
	for _, command := range []string{"kubectl apply --server-side -k config/collector-roles", bind} {
		if out, err := docs.Shell(context.Background(), command, kubectlCommand(t.Context()).Path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	g.Eventually(presets).Should(HaveField("Reason", v1alpha1.ReasonAllowed))
	// A processor that could list pods before ReplicaSets tells no Deployments until it lists again, after 5 minutes.
	if out, err := kubectl(t.Context(), "delete", "pods", "-n", namespace, "-l", "kube8.dev/collector="+agent.Name); err != nil {
		t.Fatalf("restart the agent: %v\n%s", err, out)
	}
	g.Eventually(func() int { return len(podsOf(t, agent)) }).Should(Equal(1))
	awaitReady(t, agent)

	awaitPrinted(t, backend, "system.memory.usage")
	awaitPrinted(t, backend, "system.filesystem.usage")
	// From now on the speaker's logs come with what only the API server knows of its pod.
	g.Eventually(func(g Gomega) {
		g.Expect(send(t.Context(), speaker, "a-span-of-scenario-17")).To(Succeed())
		printed, err := logs(t.Context(), podsOf(t, backend)[0])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Contains(printed, "k8s.deployment.name: Str(speaker)")).To(BeTrue(), "the backend prints the Deployment's name")
	}).WithPolling(2 * time.Second).Should(Succeed())
}
