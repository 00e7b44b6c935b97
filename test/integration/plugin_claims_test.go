package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A tool that says yes to what the operator refuses, or that does not say what it does: VictoriaMetrics/operator#1127, alloy-operator#155,
// opentelemetry-operator#5329, noobaa/noobaa-operator#52.
func TestThePluginSaysWhatBecomesOfClaims(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	runPodAs(t, collector, "gateway-0", corev1.VolumeSource{})
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	file := func(over string) string {
		return p.write("gateway.yaml", `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {cluster: prod-eu-1,
			collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme}, `+over+`}}`)
	}
	claim := func(name, class, size string) string {
		return `{metadata: {name: ` + name + `}, spec: {accessModes: [ReadWriteOnce], storageClassName: ` + class + `, resources: {requests: {storage: ` + size + `}}}}`
	}
	templates := func(all ...string) {
		file("mode: statefulset, volumeClaimTemplates: [" + strings.Join(all, ", ") + "]")
	}
	command := func(verb string) []string {
		p.write("config.yaml", another)
		return []string{verb, "-f", "gateway.yaml", "--from-file", "config.yaml", "--force-conflicts"}
	}
	const keeps = "claims of queue that are there keep their StorageClass, access modes, labels and data; only claims of new pods follow the template"
	for name, row := range map[string]struct {
		templates, want string
	}{
		"another class": {templates: claim("queue", "fixed", "1Gi"), want: keeps},
		"more":          {templates: claim("queue", "grows", "2Gi"), want: "claims of queue grow to 2Gi"},
		"a claim comes": {
			templates: claim("queue", "grows", "1Gi") + "," + claim("spool", "grows", "1Gi"),
			want:      "pods without a claim of spool are replaced one after the other, to get one",
		},
		"a claim goes": {templates: "", want: "claims of queue stay, and no pod mounts them"},
	} {
		templates(row.templates)
		out := p.run(command("plan")...)
		g.Expect(out).To(And(ContainSubstring(row.want), ContainSubstring(`StatefulSet "gateway" is replaced, and its pods keep running`)), name)
	}
	since := get(t, collector, "", &v1alpha1.Collector{})
	const refusal = "spec.volumeClaimTemplates[0].spec.resources.requests.storage: 500Mi is less than before, and a claim cannot shrink; set it to 1Gi or more"
	templates(claim("queue", "grows", "500Mi"))
	for _, verb := range []string{"plan", "apply"} {
		p.refuses("the operator would refuse it: "+refusal, command(verb)...)
	}
	file("mode: statefulset, updateStrategy: {type: OnDelete}, volumeClaimTemplates: [" + claim("queue", "grows", "1Gi") + "," + claim("spool", "grows", "1Gi") + "]")
	p.refuses("set updateStrategy.type to RollingUpdate until they are", command("plan")...)
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Generation).To(Equal(since.Generation))

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "500Mi") })
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).
		Should(ContainSubstring(refusal), "the operator says the same")
}

// The class of a claim that all pods share cannot change, and it grows only if its class allows that.
func TestThePluginSaysWhatIsRefusedOfSharedClaims(t *testing.T) {
	t.Parallel()
	collector, size := newSharedQueue(t)
	create(t, collector)
	g := NewWithT(t)
	g.Eventually(size).Should(Equal("1Gi"))
	p := pluginIn(t, collector.Namespace)
	p.write("config.yaml", another)
	p.write("gateway.yaml", `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {cluster: prod-eu-1,
		collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme},
		volumeClaims: [{metadata: {name: queue}, spec: {accessModes: [ReadWriteOnce], storageClassName: other, resources: {requests: {storage: 1Gi}}}}]}}`)
	p.refuses("the operator would refuse it: ", "plan", "-f", "gateway.yaml", "--from-file", "config.yaml", "--force-conflicts")
	p.write("gateway.yaml", `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {cluster: prod-eu-1,
		collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme}, volumeClaims: []}}`)
	g.Expect(p.run("plan", "-f", "gateway.yaml", "--from-file", "config.yaml", "--force-conflicts")).
		To(ContainSubstring(`PersistentVolumeClaim "gateway-queue" is deleted, with its data`))
}

// A field that `set` has written is no field of the file, and stays: a foreign Service is in the way of neither.
func TestThePluginForeseesAFileWithTheFieldsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p, g := pluginIn(t, namespace), NewWithT(t)
	const text = `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {cluster: prod-eu-1, replicas: 1,
		collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme}}}`
	p.write("config.yaml", config)
	arguments := []string{"apply", "-f", p.write("gateway.yaml", text), "--from-file", "config.yaml"}
	p.run(arguments...)
	collector := newCollector(namespace, "gateway")
	awaitRevision(t, collector, 1)
	p.run("set", "gateway", "service.enabled=false", "--yes")
	awaitRevision(t, collector, 2)
	g.Eventually(func() bool {
		return apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &corev1.Service{}))
	}).Should(BeTrue())
	createForeign(t, namespace, foreignObjects[0].object)
	p.write("gateway.yaml", strings.Replace(text, "replicas: 1", "replicas: 2", 1))
	g.Expect(p.run(append(arguments, "--dry-run=server")...)).To(HaveSuffix("configured (server dry run)\n"))
	g.Expect(p.run(arguments...)).To(HaveSuffix("configured\n"))
	g.Expect(specOf(t, collector).Service.Enabled).To(HaveValue(BeFalse()))

	p.write("gateway.yaml", strings.Replace(text, "replicas: 1", "replicas: 3, service: {enabled: true}", 1))
	p.refuses(`the operator would refuse it: Service "gateway" exists`, append(arguments, "--force-conflicts")...)
}
