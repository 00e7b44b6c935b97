package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// podFrom creates a pod of the template that a Collector's Deployment has now.
func podFrom(t *testing.T, collector *v1alpha1.Collector, status corev1.PodStatus) *corev1.Pod {
	t.Helper()
	template := get(t, collector, "", &appsv1.Deployment{}).Spec.Template
	made := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	made.Namespace, made.GenerateName = collector.Namespace, collector.Name+"-"
	made.Spec.ServiceAccountName = "" // there is no controller that makes the default one
	if err := plane.client.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	made.Status = status
	if err := plane.client.Status().Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestTheHistoryNamesOnlyWhoIsKnownToHaveWrittenARevision(t *testing.T) {
	t.Parallel()
	collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(2)) })
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	removal := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": null}}`))
	g.Expect(plane.client.Patch(t.Context(), collector.DeepCopy(), removal, client.FieldOwner("other"))).To(Succeed())
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)
	g.Expect(p.run("rollback", "gateway", "--yes", "--revision", "1")).To(ContainSubstring("rolled back"))
	awaitRevision(t, collector, 3)
	awaitTold(t, collector)
	g.Expect(p.run("set", "gateway", "replicas=3", "--yes")).To(HaveSuffix("collector.kube8.dev/gateway configured\n"))
	awaitRevision(t, collector, 4)
	awaitTold(t, collector)
	g.Expect(p.run("history", "gateway")).To(And(
		MatchRegexp(`(?m)^1 .* integration\.test \(field manager\) +created$`), MatchRegexp(`(?m)^2 .* unknown +replicas: 2 → 1$`),
		MatchRegexp(`(?m)^3 .* admin \(kubectl collector\) +replicas: 1 → 2$`), MatchRegexp(`(?m)^4 .* admin \(kubectl collector\) +replicas: 2 → 3$`)))
	g.Expect(p.run("set", "gateway", "replicas=3", "--yes")).To(ContainSubstring("unchanged"))
}

func TestTheWritesOfThePluginAreNoConflict(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p, g := pluginIn(t, namespace), NewWithT(t)
	p.write("config.yaml", config)
	create := []string{"create", "gateway", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "prod-eu-1", "--check"}
	text := p.run(append(create, "--dry-run=client", "-o", "yaml")...)
	p.run(create...)
	p.write("gateway.yaml", strings.Replace(strings.Replace(text, "0.160.0", "0.161.0", 1), "  check: {}\n", "", 1))
	g.Expect(p.run("plan", "-f", "gateway.yaml")).To(ContainSubstring("+  version: 0.161.0"))
	g.Expect(p.run("apply", "-f", "gateway.yaml")).To(Equal("collector.kube8.dev/gateway configured\n"))
	collector := newCollector(namespace, "gateway")
	g.Expect(specOf(t, collector).Check).To(BeNil(), "which create had set")
	p.run("set", "gateway", "version=0.162.0", "--yes")
	g.Expect(p.run("apply", "-f", "gateway.yaml")).To(Equal("collector.kube8.dev/gateway configured\n"))
	g.Expect(specOf(t, collector).Collector.Version).To(Equal("0.161.0"))
	g.Expect(p.run("apply", "-f", "gateway.yaml")).To(Equal("collector.kube8.dev/gateway unchanged\n"))
	p.refuses("there is a Collector gateway in namespace "+namespace+" already", create...)
	var managers []string
	for _, entry := range get(t, collector, "", &v1alpha1.Collector{}).ManagedFields {
		if entry.Manager != "kube8-operator" {
			managers = append(managers, entry.Manager)
		}
	}
	g.Expect(managers).To(HaveEach("kubectl-collector"))
}

func TestThePluginSetsAnyField(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("set", "gateway", "version=1.10", "spec.replicas=2", "resources.limits={memory: 1Gi}", "--yes")).To(And(
		ContainSubstring("+  version: \"1.10\""), ContainSubstring("+replicas: 2")))
	spec := specOf(t, collector)
	g.Expect(spec.Collector.Version).To(Equal("1.10"))
	g.Expect(spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
	g.Expect(spec.Resources.Limits.Memory().String()).To(Equal("1Gi"))
	p.run("set", "gateway", "replicas-", "--yes")
	g.Expect(specOf(t, collector).Replicas).To(BeNil())
	p.refuses("spec.replica: unknown field", "set", "gateway", "replica=2", "--yes")
	p.refuses("such as version=0.161.0", "set", "gateway", "version", "--yes")
	p.refuses("name a Collector and what to change", "set", "gateway")
	p.refuses("add --yes", "set", "gateway", "replicas=2")
	p.run("set", "gateway", "replicas=2", "--dry-run=server")
	g.Expect(specOf(t, collector).Replicas).To(BeNil())
	screen := p.open("true", "set", "gateway", "replicas=2")
	screen.expect("[y/N]")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Cluster = "moon" })
	screen.answer("y")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(ContainSubstring("another client has changed"))
}

func TestWhySaysWhatServesMeanwhileAndWhoBroughtTheChange(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	old := podFrom(t, collector, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "collector", Ready: true}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}})
	becomeReady(t, collector)
	p.write("new.yaml", another)
	p.run("config", "set", "gateway", "--from-file", "new.yaml", "--yes")
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)
	podFrom(t, collector, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu."}}})
	deployment := get(t, collector, "", &appsv1.Deployment{})
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UnavailableReplicas: 1,
	}
	g.Expect(plane.client.Status().Update(t.Context(), deployment)).To(Succeed())
	awaitReady(t, collector, "False", "PodsNotReady", "Insufficient cpu")
	g.Expect(p.run("why", "gateway")).To(And(
		ContainSubstring("What serves meanwhile\n  "+old.Name+" of revision 1, image "), ContainSubstring("configuration "+sha256Of(config)[:10]+", and not "),
		MatchRegexp(`Who brought the change\n  revision 2, deployed \w+ ago, by admin \(kubectl collector\): configuration changed`),
		ContainSubstring("No node has as much CPU"), Not(ContainSubstring("Pods do not serve"))))

	tenant := pluginOf(t, editorKubeconfig(t, collector.Namespace))
	g.Eventually(func() string { _, failure := tenant.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	out := tenant.run("why", "gateway")
	g.Expect(out).To(And(ContainSubstring(old.Name+" of image"), ContainSubstring("revision 2, by a change of the spec")))
	for line := range strings.Lines(out) {
		if command := strings.Fields(strings.TrimSpace(line)); len(command) > 1 && command[0] == "kubectl" {
			g.Expect(command).NotTo(ContainElement("-A"))
			screen := tenant.shell("true", strings.TrimSuffix(strings.TrimSpace(line), " --watch"))
			g.Expect(screen.end()).To(Succeed(), "a tenant may run %s:\n%s", line, screen.text())
		}
	}

	pause(t, collector)
	awaitPaused(t, collector, corev1.ConditionTrue)
	p.run("set", "gateway", "replicas=2", "--yes")
	for _, command := range []string{"status", "why"} {
		g.Expect(p.run(command, "gateway")).To(And(ContainSubstring("kubectl collector resume gateway -n "+collector.Namespace),
			ContainSubstring("the owner's change of the spec, by admin (kubectl collector), is not deployed"), Not(ContainSubstring("Remove it"))), command)
	}
}

func TestWhySpeaksOfTheBaseThatIsMissing(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Bases = []v1alpha1.Base{{Name: "t-told-missing"}}
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, collector, "False", "ConfigMissing", "t-told-missing")
	g := NewWithT(t)
	for _, p := range []*plugin{pluginIn(t, collector.Namespace), pluginOf(t, editorKubeconfig(t, collector.Namespace))} {
		g.Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
		g.Expect(p.run("why", "gateway")).To(And(
			ContainSubstring("The platform has no base of that name."), Not(ContainSubstring("configurationSecret")), ContainSubstring("What serves meanwhile\n  no pod")))
	}
}

func TestAPreflightChecksACollectorWithItsBases(t *testing.T) {
	t.Parallel()
	newBase(t, "t-told-preflight", "first", "processors: {told: {}}\n")
	collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Collector.Bases = []v1alpha1.Base{{Name: "t-told-preflight"}} })
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	screen := p.open("true", "preflight", "--version", "0.151.0")
	g.Eventually(func() any { return tried(t, collector) }).Should(HaveKey("gateway"))
	job := tried(t, collector)["gateway"]
	files := &corev1.Secret{}
	g.Eventually(func() error { return plane.client.Get(t.Context(), client.ObjectKeyFromObject(job), files) }).Should(Succeed())
	g.Expect(files.Data).To(And(HaveKeyWithValue("config.yaml", []byte(config)), HaveKeyWithValue("base-t-told-preflight.yaml", []byte("processors: {told: {}}\n"))))
	g.Expect(job.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--config=/etc/collector/base-t-told-preflight.yaml"))
	acceptCheck(t, job)
	g.Expect(screen.end()).To(Succeed(), screen.text())
	g.Expect(screen.text()).To(ContainSubstring("1 of 1 pass"))
}

// Not of the shared operator: no operator has to be there.
func TestWhyOfANewCollectorSaysToWait(t *testing.T) {
	t.Parallel()
	plane := startTenancyPlane(t)
	p, g := pluginOf(t, plane.kubeconfig), NewWithT(t) // built before the Collector is there, which is new for 30 seconds
	for _, command := range []string{"why", "status"} {
		collector := object(t, patched(t, `{metadata: {namespace: acme, name: `+command+`}}`))
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		out := p.run(command, collector.GetName(), "-n", "acme")
		g.Expect(out).To(And(ContainSubstring("Wait: an operator reconciles a new Collector within seconds."), Not(ContainSubstring("kube8-operator-system"))))
	}
	p.refuses("field label not supported: status.phase; Collectors are selected by the fields metadata.name", "list", "-A", "--field-selector", "status.phase=a")
	p.refuses("such as: kubectl collector why gateway", "why")
	g.Expect(p.run("rollout", "undo", "--help")).To(MatchRegexp(`--to string +the version`))
}
