package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

func TestEachTaskOfTheDocumentIsOneCommandOfThePlugin(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	collector := newCollector(namespace, "gateway")
	p, g := pluginIn(t, "default"), NewWithT(t)
	p.write("config.yaml", config)
	p.write("gateway.yaml", `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {replicas: 2, cluster: prod-eu-1,
		collector: {name: opentelemetry-collector, version: 0.160.0}, tenant: {id: acme, reference: acme}}}`)
	podOn(t, collector, newKubelet(t), "gateway-a", map[string]string{collectorLabel: "gateway"})
	script, err := docs.Script("docs/how-to/clients.md", "By task")
	if err != nil {
		t.Fatal(err)
	}
	const asked = "[y/N]"
	want := map[string][]string{
		"create": {"collector.kube8.dev/gateway created"}, "config edit": {"+# edited", asked, "configured"},
		"config set": {"-# edited", asked, "configured"}, "config set --dry-run": {"-# edited", "configured (server dry run)"},
		"set":       {"+  version: 0.161.0", asked, "configured"},
		"preflight": {"1 of 1: " + namespace + "/gateway passes", "1 of 1 pass"}, "config get": {"receivers:"}, "config diff": {"-# edited"},
		"status": {"Next: "}, "why": {"Collector " + namespace + "/gateway is not ready"}, "history": {"REVISION"},
		"rollback": {"SHA-256", asked, "rolled back to the spec of revision 3"}, "restart": {"restarted"}, "pause": {"paused"}, "resume": {"resumed"},
		"logs": {"log of " + namespace + "/gateway-a/collector"}, "report": {".tar.gz"},
		"plan": {"+replicas: 2"}, "apply": {"configured"}, "list": {"NAMESPACE", " ready"}, "top": {"No Collectors with spec.flow found."}, "delete": {asked, "deleted"},
	}
	for line := range strings.Lines(strings.ReplaceAll(script, "tenant-acme", namespace)) {
		line = strings.TrimSpace(line)
		verb := strings.TrimPrefix(line, "kubectl collector ")
		for known := range want {
			if strings.HasPrefix(verb, known+" ") {
				verb = known
			}
		}
		if strings.Contains(line, "--dry-run") {
			verb = "config set --dry-run"
		}
		texts, known := want[verb]
		if !known {
			t.Errorf("the document has %q, of which the test does not know what to expect", line)
			continue
		}
		delete(want, verb)
		screen := p.shell(`printf '\n# edited\n' >>"$1"`, line)
		if verb == "preflight" { // there is no Job controller here
			g.Eventually(func() any { return tried(t, collector) }).Should(HaveKey("gateway"))
			acceptCheck(t, tried(t, collector)["gateway"])
		}
		for _, text := range texts {
			screen.expect(text)
			if text == asked {
				screen.answer("y")
			}
		}
		g.Expect(screen.end()).To(Succeed(), "%s:\n%s", line, screen.text())
		if verb == "delete" {
			continue
		}
		g.Eventually(func(g Gomega) {
			found := get(t, collector, "", &v1alpha1.Collector{})
			g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
			g.Expect(found.Status.DeployedRelease).NotTo(BeNil())
			g.Expect(found.Annotations[v1alpha1.PausedAnnotation] == "true").To(Equal(verb == "pause"))
		}).Should(Succeed(), "after %s", line)
	}
	g.Expect(want).To(BeEmpty(), "tasks that the document lacks")
}

// Not parallel: it writes to the folder of the plugin, as the document says.
func TestTheShellCompletesNamesAsTheDocumentSays(t *testing.T) {
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	script, err := docs.Script("docs/how-to/clients.md", "Install the plugin")
	runScript(t, "", script, err)
	screen := p.shell("", "kubectl __complete collector status g")
	g.Expect(screen.end()).To(Succeed())
	g.Expect(screen.text()).To(ContainSubstring("\ngateway\n:4\n"))
}
