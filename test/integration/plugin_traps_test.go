package integration

import (
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// kube-logging/logging-operator#1517, fluent/fluent-bit#7308, elastic/cloud-on-k8s#8605.
func TestThePluginKnowsAReadOnlyRootByTheLog(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Name, collector.Spec.Collector.Format = "docker.elastic.co/beats/filebeat", "raw"
	create(t, collector)
	node := newKubeletOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "previous %q\n%s: open /usr/share/filebeat/data/registry: read-only file system\n", r.URL.Query().Get("previous"), canary)
	})
	podOn(t, collector, node, "gateway-a", map[string]string{collectorLabel: "gateway"})
	pod := &corev1.Pod{}
	if err := plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: "gateway-a"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "collector", Image: "docker.elastic.co/beats/filebeat:9.4.2",
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: canary}},
	}}
	if err := plane.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("why", "gateway")).To(And(
		ContainSubstring("Filebeat writes to /usr/share/filebeat/data"), ContainSubstring("the root file system is read-only"),
		ContainSubstring("Mount a volume there"), Not(ContainSubstring(canary))))
}

func TestFilesInFoldersReachPods(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Files = map[string]v1alpha1.FileContent{"conf.d/http.d/conf.yaml": []byte("one\n"), "a.conf": []byte("a\n")}
	create(t, collector)
	awaitRevision(t, collector, 1)
	g := NewWithT(t)
	config := volumeOf(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec, "config").Secret
	g.Expect(config.Items).To(ContainElements(
		corev1.KeyToPath{Key: "conf.d..http.d..conf.yaml", Path: "conf.d/http.d/conf.yaml"}, corev1.KeyToPath{Key: "a.conf", Path: "a.conf"}))
	mounted := &corev1.Secret{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: collector.Namespace, Name: config.SecretName}, mounted)).To(Succeed())
	g.Expect(mounted.Data).To(HaveKeyWithValue("conf.d..http.d..conf.yaml", []byte("one\n")))

	p := pluginIn(t, collector.Namespace)
	p.write("new.yaml", "two\n")
	p.run("config", "set", "gateway", "--file", "conf.d/http.d/conf.yaml", "--from-file", "new.yaml", "--yes")
	awaitRevision(t, collector, 2)
	g.Expect(p.run("config", "get", "gateway", "--file", "conf.d/http.d/conf.yaml")).To(Equal("two\n"))
	g.Expect(p.run("config", "get", "gateway", "--file", "conf.d/http.d/conf.yaml", "--revision", "1")).To(Equal("one\n"))
	g.Expect(p.run("config", "diff", "gateway", "--file", "conf.d/http.d/conf.yaml")).To(And(ContainSubstring("-one"), ContainSubstring("+two")))
}

// volumeOf returns the volume of a name.
func volumeOf(pod corev1.PodSpec, name string) corev1.Volume {
	for _, volume := range pod.Volumes {
		if volume.Name == name {
			return volume
		}
	}
	return corev1.Volume{}
}

func TestThePluginWarnsOfTraps(t *testing.T) {
	t.Parallel()
	p, g := pluginIn(t, newNamespace(t)), NewWithT(t)
	warned := func(arguments ...string) string {
		cmd := p.command(arguments...)
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		return string(out)
	}
	// influxdata/telegraf#4133
	telegraf := `apiVersion: kube8.dev/v1alpha1
kind: Collector
metadata: {name: gateway}
spec:
  collector: {name: library/telegraf, version: "1.37", format: raw, fileName: telegraf.conf, configurationText: "[agent]"}
  tenant: {id: "1042", reference: acme}
  cluster: prod
  args: [--config, /etc/collector/telegraf.conf, --config-directory, /etc/collector]
`
	p.write("telegraf.yaml", telegraf)
	const want = "Warning: Collector "
	g.Expect(warned("plan", "-f", "telegraf.yaml")).To(And(ContainSubstring(want), ContainSubstring("Telegraf reads /etc/collector/telegraf.conf twice"),
		ContainSubstring("+kind: Deployment")))
	g.Expect(warned("render", "-f", "telegraf.yaml")).To(And(ContainSubstring(want), ContainSubstring("kind: Deployment")))
	p.write("a.alloy", "a")
	g.Expect(warned("create", "agent", "--from-file", "a.alloy", "--format", "raw", "--collector", "grafana/alloy", "--version", "v1.21.2", "--tenant", "acme",
		"--cluster", "prod")).To(And(ContainSubstring("Alloy writes to /var/lib/alloy/data"), ContainSubstring("collector.kube8.dev/agent created")))
}
