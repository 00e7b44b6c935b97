package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePluginListsTheFleet(t *testing.T) {
	t.Parallel()
	collector := install(t)
	becomeReady(t, collector)
	agent := newCollector(collector.Namespace, "agent")
	agent.Labels = map[string]string{"team": "edge"}
	agent.Spec.Cluster = "staging"
	create(t, agent)
	awaitReady(t, agent, "False", "Progressing", "")
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)

	g.Expect(p.run("list")).To(MatchRegexp(`^NAME +READY +STATUS +VERSION +TENANT +CLUSTER +UPDATE +AGE\n` +
		`agent +False +Progressing +0.150.0 +acme +staging +- +\d+s\n` +
		`gateway +True +Available +0.150.0 +acme +prod-eu-1 +- +\d+s\n\n` +
		`1 of 2 ready, 1 Progressing\n$`))
	g.Expect(p.run("list", "-A", "-o", "wide")).To(And(
		MatchRegexp(`NAMESPACE +NAME .*COLLECTOR +PODS +REVISION +FLOWING +MESSAGE`), MatchRegexp(collector.Namespace+` +gateway .*1/1 available`)))
	g.Expect(p.run("list", "-l", "team=edge", "-o", "name")).To(Equal("collector.kube8.dev/agent\n"))
	g.Expect(p.run("list", "--field-selector", "spec.cluster=prod-eu-1", "-o", "name")).To(Equal("collector.kube8.dev/gateway\n"))
	g.Expect(p.run("list", "--sort-by", "cluster", "-o", "name")).To(Equal("collector.kube8.dev/gateway\ncollector.kube8.dev/agent\n"))
	for output, parse := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		var list unstructured.UnstructuredList
		g.Expect(parse([]byte(p.run("list", "-o", output)), &list.Object)).To(Succeed())
		g.Expect(list.Object["items"]).To(HaveLen(2))
	}
	p.refuses("is no column", "list", "--sort-by", "age")
	p.refuses("is none of wide", "list", "-o", "xml")
	g.Expect(pluginIn(t, newNamespace(t)).run("list")).To(BeEmpty())
	p = pluginOf(t, editorKubeconfig(t, collector.Namespace))
	g.Eventually(func() string { _, failure := p.try("list"); return failure }).Should(BeEmpty(), "until the binding is known")
	p.refuses("your account may not list Collectors", "list", "-A")
}

func TestThePluginTellsPrograms(t *testing.T) {
	t.Parallel()
	collector := install(t)
	pod(t, collector, crashed())
	serve(t, collector, 0)
	awaitReady(t, collector, "False", "PodsNotReady", "CrashLoopBackOff")
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	for _, command := range []string{"status", "why"} {
		var told struct {
			Name    string
			Current bool
			Ready   v1alpha1.Condition
			Causes  []struct{ Happened, Action, Command string }
			Pods    []struct {
				State    string
				Restarts int
			}
		}
		g.Expect(json.Unmarshal([]byte(p.run(command, "gateway", "-o", "json")), &told)).To(Succeed())
		g.Expect(told.Name).To(Equal("gateway"))
		g.Expect(told.Current).To(BeTrue())
		g.Expect(told.Ready.Reason).To(Equal("PodsNotReady"))
		g.Expect(told.Causes).To(ConsistOf(HaveField("Happened", "The collector starts, and ends by itself.")))
		g.Expect(told.Pods).To(ConsistOf(And(HaveField("State", "CrashLoopBackOff"), HaveField("Restarts", 7))))
	}
	var recorded struct{ Revisions []struct{ Revision int } }
	g.Expect(yaml.Unmarshal([]byte(p.run("history", "gateway", "-o", "yaml")), &recorded)).To(Succeed())
	g.Expect(recorded.Revisions).To(ConsistOf(HaveField("Revision", 1)))
	p.refuses("neither json nor yaml", "why", "gateway", "-o", "table")
}

func TestThePluginWaits(t *testing.T) {
	t.Parallel()
	collector := install(t)
	becomeReady(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.write("new.yaml", another)
	ended := make(chan string, 1)
	go func() {
		_, failure := p.try("config", "set", "gateway", "--yes", "--wait", "--from-file", "new.yaml")
		ended <- failure
	}()
	awaitRevision(t, collector, 2)
	g.Consistently(ended, "1s").ShouldNot(Receive(), "before the pods serve")
	serve(t, collector, 1)
	g.Eventually(ended).Should(Receive(BeEmpty()))

	exit := func(arguments ...string) int {
		cmd := p.command(arguments...)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	g.Expect(exit("restart", "gateway", "--wait", "--timeout", "1s")).To(Equal(3), "not ready in time")
	p.write("bad.yaml", "a: *nobody\n")
	g.Expect(exit("config", "set", "gateway", "--yes", "--from-file", "bad.yaml")).To(Equal(2), "refused by the check")
	g.Expect(exit("status", "nobody")).To(Equal(1))
	pause(t, collector)
	g.Expect(exit("restart", "gateway", "--wait")).To(Equal(1), "paused")
	g.Expect(exit("config", "set", "gateway", "--yes", "--wait", "--from-file", p.write("third.yaml", another+"# more\n"))).To(Equal(3), "paused, at once")
}

func TestThePluginDeletesACollector(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.refuses("add --yes", "delete", "gateway")
	g.Expect(p.run("delete", "gateway", "--yes")).To(Equal("collector.kube8.dev/gateway deleted\n"))
	g.Expect(apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{}))).To(BeTrue())
	p.refuses("there is no Collector gateway", "delete", "gateway", "--yes")
}

// Not parallel: it measures. No operator has to be there.
func TestAFleetOf1000IsShownWithinASecond(t *testing.T) {
	p := startTenancyPlane(t)
	text := strings.Repeat("# what a configuration has, in each of a thousand Collectors\n", 300) + config
	var group errgroup.Group
	group.SetLimit(8)
	for i := range 1000 {
		collector := object(t, patched(t, fmt.Sprintf(`{metadata: {name: c-%d, namespace: acme}, spec: {collector: {configuration: %s}}}`, i,
			base64.StdEncoding.EncodeToString([]byte(text)))))
		group.Go(func() error { return p.client.Create(t.Context(), collector) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	list := pluginOf(t, p.kubeconfig).command("list", "-A")
	server := func() time.Duration {
		return time.Duration(ofAPIServer(t, p.config, "process_cpu_seconds_total") * float64(time.Second))
	}
	before := server()
	out, err := list.Output()
	if err != nil || !strings.HasSuffix(string(out), "\n0 of 1000 ready, 1000 Unknown\n") {
		t.Fatalf("%v; got %d bytes:\n%s", err, len(out), out[max(0, len(out)-400):])
	}
	// Beside other tests both wait for a processor. How long they have one does not depend on that.
	worked := server() - before + list.ProcessState.UserTime() + list.ProcessState.SystemTime()
	recordFigure(t, "`kubectl collector list -A` of 1,000 Collectors takes, of the processors", worked.Round(10*time.Millisecond))
	if worked > time.Second {
		t.Errorf("the plugin and the API server worked for %s", worked)
	}
}

func TestThePluginPlansAndAppliesAFile(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p, g := pluginIn(t, namespace), NewWithT(t)
	const text = `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {cluster: prod-eu-1,
		collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme}}}`
	p.write("gateway.yaml", text)
	p.write("config.yaml", config)
	arguments := []string{"-f", "gateway.yaml", "--from-file", "config.yaml"}
	foreign := createForeign(t, namespace, foreignObjects[0].object)
	const taken = `exit status 2: the operator would refuse it: Service "gateway" exists and has no owner; delete or rename it, or rename the Collector`
	p.refuses(taken, append([]string{"plan"}, arguments...)...)
	p.refuses(taken, append([]string{"apply", "--dry-run=server"}, arguments...)...)
	p.refuses(taken, "create", "gateway", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "prod-eu-1")
	g.Expect(plane.client.Delete(t.Context(), foreign)).To(Succeed())
	g.Expect(p.run(append([]string{"plan"}, arguments...)...)).To(And(
		ContainSubstring("+cluster: prod-eu-1\n"), ContainSubstring("+kind: Deployment"), Not(ContainSubstring("receivers"))))
	g.Expect(list(t, namespace, "kube8.dev/v1alpha1", "Collector")).To(BeEmpty(), "after a plan")
	g.Expect(p.run(append([]string{"apply"}, arguments...)...)).To(Equal("collector.kube8.dev/gateway created\n"))
	collector := newCollector(namespace, "gateway")
	awaitRevision(t, collector, 1)
	g.Expect(specOf(t, collector).Collector.ConfigurationText).To(BeEquivalentTo(config))
	g.Expect(p.run(append([]string{"apply"}, arguments...)...)).To(Equal("collector.kube8.dev/gateway unchanged\n"))
	g.Expect(p.run(append([]string{"plan"}, arguments...)...)).To(And(ContainSubstring("/spec: unchanged"), ContainSubstring("/objects: unchanged")))

	of := func(fields string) []string { // the cluster serves these APIs, so the operator uses them, too
		return []string{"-f", p.write("optional.yaml", strings.Replace(text, "spec: {", "spec: {"+fields+", ", 1))}
	}
	const nope = "exit status 2: refused, and not sent:\nCollector %s/gateway: spec.httpRoute: needs the Service and its port nope"
	p.refuses(fmt.Sprintf(nope, namespace), append([]string{"apply"}, of("httpRoute: {enabled: true, port: nope, parentRefs: [{name: a}]}")...)...)
	g.Expect(p.run(append([]string{"plan"}, of("serviceMonitor: {enabled: true}")...)...)).To(ContainSubstring("\n+kind: ServiceMonitor\n"))

	p.write("gateway.yaml", strings.Replace(text, "prod-eu-1", "prod-eu-2, replicas: 3, env: [{name: TOKEN, value: hunter2}]", 1))
	g.Expect(p.run(append([]string{"plan"}, arguments...)...)).To(And(
		ContainSubstring("-cluster: prod-eu-1\n+cluster: prod-eu-2\n"), MatchRegexp(`\+ +replicas: 3`), ContainSubstring("kube8.dev/cluster: prod-eu-2"),
		MatchRegexp(`(?m)^\+- name: TOKEN\n\+  value: \(hidden\)$`), Not(ContainSubstring("hunter2"))))
	g.Expect(p.run(append([]string{"apply"}, arguments...)...)).To(Equal("collector.kube8.dev/gateway configured\n"))
	other := newCollector(namespace, "gateway")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"cluster": "prod-eu-3"}}`))
	g.Expect(plane.client.Patch(t.Context(), other, patch, client.FieldOwner("other"))).To(Succeed())
	p.refuses("another client owns a field", "apply", "-f", p.write("other.yaml", strings.Replace(text, "prod-eu-1", "moon", 1)))
	p.refuses("spec.tenat: unknown field", "plan", "-f", p.write("bad.yaml", strings.Replace(text, "tenant:", "tenat:", 1)))
	p.refuses("has no Collector", "apply", "-f", p.write("none.yaml", "kind: ConfigMap\n"))
	p.refuses("by -f", "plan")
	p.refuses("more than one object", "apply", "-f", p.write("two.yaml", text+"\n---\n"+text+"\n"))
	p.refuses("is for namespace other", "apply", "-n", namespace, "-f",
		p.write("elsewhere.yaml", strings.Replace(text, "name: gateway", "name: gateway, namespace: other", 1)))
	p.refuses("there is no namespace nowhere", "apply", "-f",
		p.write("nowhere.yaml", strings.Replace(text, "name: gateway", "name: gateway, namespace: nowhere", 1)))
	g.Expect(p.run("apply", "--force-conflicts", "-f", "other.yaml")).To(ContainSubstring("configured"))

	defer forbid(t, namespace, "kube8.dev", "collectors", "object.spec.cluster != 'moon'", registrationv1.Create, registrationv1.Update)()
	p.write("gateway.yaml", strings.Replace(text, "prod-eu-1", "moon", 1))
	g.Eventually(func() string {
		_, failure := p.try("plan", "-f", "gateway.yaml")
		return failure
	}).Should(ContainSubstring("the platform refuses to apply Collector " + namespace + "/gateway"))
}
