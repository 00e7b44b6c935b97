package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// tenancyAuditPolicy records what the policies have to say, which is known when a request has been answered.
const tenancyAuditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{group: kube8.dev}]
- level: None
`

// tenancyPlane is a control plane of its own for policies that are in force in all namespaces. It has no operator.
type tenancyPlane struct {
	client     client.Client // of the administrator
	config     *rest.Config
	kubeconfig []byte
	auditLog   string
	warnings   *warnings
}

// warnings are what the API server has warned of since they were last taken.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// startTenancyPlane starts one whose API server has further flags, each a name and a value.
func startTenancyPlane(t *testing.T, flags ...[2]string) *tenancyPlane {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "audit-policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(tenancyAuditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	env := newEnvironment()
	env.ControlPlane.GetAPIServer().Configure().Append("audit-policy-file", policy).Append("audit-log-path", log)
	for _, flag := range flags {
		env.ControlPlane.GetAPIServer().Configure().Append(flag[0], flag[1])
	}
	config := rest.CopyConfig(start(t, env))
	p := &tenancyPlane{kubeconfig: env.KubeConfig, auditLog: log, warnings: &warnings{}}
	p.config = config
	config.WarningHandler = p.warnings
	var err error
	if p.client, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]metav1.ObjectMeta{systemNamespace: {}}
	if err := yaml.Unmarshal([]byte(tenancyNamespaces), &namespaces); err != nil {
		t.Fatal(err)
	}
	for name, meta := range namespaces {
		meta.Name = name
		if err := p.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// apply applies a folder of config/tenancy, as docs/explanation/security.md says.
func (p *tenancyPlane) apply(t *testing.T, folder string) {
	t.Helper()
	if out, err := kubectlOn(t, p.kubeconfig, "apply", "-k", "config/tenancy/"+folder); err != nil {
		t.Fatal(out)
	}
}

// try has the API server say whether it would create a Collector: the valid manifest with a merge patch, in a namespace.
func (p *tenancyPlane) try(t *testing.T, namespace, patch string) error {
	t.Helper()
	collector := object(t, patched(t, patch))
	collector.SetNamespace(namespace)
	return p.client.Create(t.Context(), collector, client.DryRunAll)
}

// setLimits writes the ConfigMap collector-limits.
func (p *tenancyPlane) setLimits(t *testing.T, data map[string]string) {
	t.Helper()
	limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "collector-limits"}, Data: data}
	if err := p.client.Update(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
}

// deniedBy is what the API server says of a refusal by a policy, whose binding has its name and a prefix.
func deniedBy(prefix, policy, refusal string) string {
	return `collectors.kube8.dev "gateway" is forbidden: ValidatingAdmissionPolicy '` + policy + `' with binding '` + prefix + policy +
		`' denied request: ` + refusal
}

// expectDenied checks that err is a refusal to the letter, or none for "".
func expectDenied(g Gomega, err error, policy, refusal string) {
	if refusal == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	g.Expect(err).To(MatchError(deniedBy("", policy, refusal)))
}

// withinLimits is a patch with what the limits of the tables demand of every Collector.
const withinLimits = `{spec: {resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: "1", memory: 1Gi, ephemeral-storage: 1Gi}}}}`

const tenantPolicy, limitsPolicy = "collector-tenant.kube8.dev", "collector-limits.kube8.dev"

func TestTenancyOfAllNamespaces(t *testing.T) {
	t.Parallel()
	p := startTenancyPlane(t)
	p.apply(t, "cluster")

	t.Run("a Collector is tied to its tenant", func(t *testing.T) {
		NewWithT(t).Eventually(func() error { return p.try(t, "acme", `{spec: {tenant: {reference: other}}}`) }).ShouldNot(Succeed())
		for _, row := range tenants {
			t.Run(row.name, func(t *testing.T) {
				expectDenied(NewWithT(t), p.try(t, row.namespace, `{spec: {tenant: {reference: `+row.reference+`}}}`), tenantPolicy, row.refusal)
			})
		}
	})
	t.Run("without limits all is allowed", func(t *testing.T) {
		for _, row := range limited {
			NewWithT(t).Expect(p.try(t, "acme", row.patch)).To(Succeed(), row.name)
		}
	})
	t.Run("a Collector is held to the limits", func(t *testing.T) {
		p.setLimits(t, clusterLimits)
		NewWithT(t).Eventually(func() error { return p.try(t, "acme", `{spec: {replicas: 6}}`) }).ShouldNot(Succeed())
		for _, row := range limited {
			t.Run(row.name, func(t *testing.T) {
				expectDenied(NewWithT(t), p.try(t, "acme", within(t, row.patch)), limitsPolicy, row.refusal)
			})
		}
		for _, row := range overridden {
			t.Run("of its namespace: "+row.name, func(t *testing.T) {
				expectDenied(NewWithT(t), p.try(t, row.namespace, within(t, row.patch)), limitsPolicy, row.refusal)
			})
		}
	})
	t.Run("each field that reaches beyond its namespace has a limit", func(t *testing.T) { p.tryFields(t) })
	t.Run("null in place of a security context is a privilege", func(t *testing.T) { p.tryNulls(t) })
	t.Run("a Collector that breaks a limit is refused changes of its spec, and nothing else", func(t *testing.T) { p.tryUpdates(t) })
	t.Run("what a Collector does not say is what the chart says", func(t *testing.T) { p.tryDefaults(t) })
	t.Run("a limit that cannot be right is named", func(t *testing.T) {
		for _, row := range wrongLimits {
			p.setLimits(t, map[string]string{row.limit: row.value})
			NewWithT(t).Eventually(func(g Gomega) {
				expectDenied(g, p.try(t, "acme", `{}`), limitsPolicy,
					`the limit `+row.limit+` is "`+row.value+`", by ConfigMap kube8-operator-system/collector-limits; `+row.refusal)
			}).Should(Succeed())
		}
	})
	t.Run("audit refuses nothing, and tells", func(t *testing.T) { p.tryAudit(t) })
	t.Run("a ConfigMap that is not there limits nothing", func(t *testing.T) {
		limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "collector-limits"}}
		if err := p.client.Delete(t.Context(), limits); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() error { return p.try(t, "acme", `{spec: {replicas: 1000}}`) }).Should(Succeed())
	})
}

// within returns withinLimits with a patch merged into it.
func within(t *testing.T, patch string) string {
	t.Helper()
	merged := map[string]any{}
	for _, text := range []string{withinLimits, strings.ReplaceAll(patch, "\t", "  ")} {
		var part map[string]any
		if err := yaml.Unmarshal([]byte(text), &part); err != nil {
			t.Fatal(err)
		}
		merge(merged, part)
	}
	return toYAML(merged)
}

// merge merges maps as a merge patch does, but keeps nulls.
func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		if old, isOld := into[key].(map[string]any); isMap && isOld {
			merge(old, inner)
			continue
		}
		into[key] = value
	}
}

// tryUpdates needs clusterLimits in force.
func (p *tenancyPlane) tryUpdates(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	collector := object(t, patched(t, within(t, `{spec: {replicas: 6}}`)))
	collector.SetNamespace("acme")
	p.setLimits(t, nil)
	g.Eventually(func() error { return p.client.Create(t.Context(), collector.DeepCopy()) }).Should(Succeed())
	p.setLimits(t, clusterLimits)
	g.Eventually(func() error { return p.try(t, "acme", `{spec: {replicas: 6}}`) }).ShouldNot(Succeed())

	update := func(patch string) error {
		merge, err := yaml.YAMLToJSON([]byte(patch))
		g.Expect(err).NotTo(HaveOccurred())
		return p.client.Patch(t.Context(), collector.DeepCopy(), client.RawPatch("application/merge-patch+json", merge))
	}
	expectDenied(g, update(`{spec: {cluster: moved}}`), limitsPolicy, refused("spec.replicas", "6", "replicas"))
	g.Expect(update(`{metadata: {annotations: {a: b}, finalizers: [example.com/a]}}`)).To(Succeed())
	g.Expect(p.client.Status().Patch(t.Context(), collector.DeepCopy(),
		client.RawPatch("application/merge-patch+json", []byte(`{"status": {"version": "1"}}`)))).To(Succeed())
	g.Expect(p.client.Delete(t.Context(), collector.DeepCopy())).To(Succeed())
	g.Expect(update(`{metadata: {finalizers: null}}`)).To(Succeed())
	err := p.client.Get(t.Context(), client.ObjectKeyFromObject(collector), collector.DeepCopy())
	g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	g.Expect(err).To(HaveOccurred())
}

// tryDefaults has the policy tell its defaults, and compares them with the chart's golden output.
func (p *tenancyPlane) tryDefaults(t *testing.T) {
	t.Helper()
	golden, err := os.ReadFile("helm-charts/collector/ci/golden/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := bytes.Cut(golden, []byte("templates/deployment.yaml"))
	text, _, _ = bytes.Cut(text, []byte("\n---"))
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal(text[bytes.IndexByte(text, '\n'):], &deployment); err != nil {
		t.Fatal(err)
	}
	chart := deployment.Spec.Template.Spec.Containers[0]
	repository, _, _ := strings.Cut(chart.Image, ":")

	p.setLimits(t, map[string]string{
		"registries": "none", "modes": "daemonset", "requests.cpu": "0", "requests.memory": "0", "limits.memory": "0",
	})
	NewWithT(t).Eventually(func() error { return p.try(t, "acme", `{}`) }).Should(MatchError(And(
		ContainSubstring("the default registry with spec.collector.name is "+repository+"; "),
		ContainSubstring("spec.mode is deployment; "),
		ContainSubstring("spec.resources.requests.cpu is "+chart.Resources.Requests.Cpu().String()+"; "),
		ContainSubstring("spec.resources.requests.memory is "+chart.Resources.Requests.Memory().String()+"; "),
		ContainSubstring("spec.resources.limits.memory is "+chart.Resources.Limits.Memory().String()+"; "),
	)))
	NewWithT(t).Expect(chart.Resources.Limits).To(HaveLen(1), "the policy says that there is no limit of CPU")
}

func (p *tenancyPlane) tryAudit(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	p.setLimits(t, clusterLimits)
	p.apply(t, "cluster-audit") // which leaves the limits as they are
	refusal := refused("spec.replicas", "6", "replicas")
	g.Eventually(func(g Gomega) {
		p.warnings.take()
		g.Expect(p.try(t, "acme", within(t, `{spec: {replicas: 6}}`))).To(Succeed())
		g.Expect(p.warnings.take()).To(ConsistOf(
			"Validation failed for ValidatingAdmissionPolicy '" + limitsPolicy + "' with binding '" + limitsPolicy + "': " + refusal))
	}).Should(Succeed())
	g.Eventually(func() ([]byte, error) { return os.ReadFile(p.auditLog) }).Should(Satisfy(func(log []byte) bool {
		return bytes.Contains(log, []byte(`"validation.policy.admission.k8s.io/validation_failure":"[{\"message\":\"`+refusal+`\",`))
	}))
}
