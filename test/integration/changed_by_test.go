package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/test/docs"
)

const changedBy = "kube8.dev/changed-by"

// as returns a client of somebody.
func (p *tenancyPlane) as(t *testing.T, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(p.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACollectorSaysWhoHasChangedItsSpecAndNobodyCanForgeIt(t *testing.T) {
	t.Parallel()
	flags := [][2]string{{"runtime-config", "admissionregistration.k8s.io/v1beta1=true"}}
	hasOnlyBeta := minorOfAPIServer(t) < 36
	if hasOnlyBeta {
		flags = append(flags, [2]string{"feature-gates", "MutatingAdmissionPolicy=true"})
	}
	p := startTenancyPlane(t, flags...)
	script, err := docs.Script("docs/explanation/security.md", "Who has changed a Collector")
	if err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	ga, beta, _ := strings.Cut(strings.TrimSpace(script), "\n")
	if hasOnlyBeta {
		ga = beta
	}
	out, err := kubectlOn(t, p.kubeconfig, strings.Fields(ga)[1:]...)
	g.Expect(err).NotTo(HaveOccurred(), out)
	jane, joe, operator := p.as(t, "jane"), p.as(t, "joe"), p.as(t, "system:serviceaccount:kube8-operator-system:kube8-operator")

	collector := object(t, patched(t, `{metadata: {annotations: {kube8.dev/changed-by: joe}}}`))
	collector.SetNamespace("acme")
	g.Eventually(func(g Gomega) { // until the policy is known
		tried := collector.DeepCopy()
		g.Expect(jane.Create(t.Context(), tried, client.DryRunAll)).To(Succeed())
		g.Expect(tried.GetAnnotations()).To(HaveKeyWithValue(changedBy, "jane"))
	}).Should(Succeed())
	g.Expect(jane.Create(t.Context(), collector.DeepCopy())).To(Succeed())

	merge := func(c client.Client, patch string) func() error {
		return func() error {
			text, err := yaml.YAMLToJSON([]byte(patch))
			if err != nil {
				return err
			}
			return c.Patch(t.Context(), collector.DeepCopy(), client.RawPatch(types.MergePatchType, text))
		}
	}
	apply := func(c client.Client, patch string) func() error {
		return func() error {
			wanted := object(t, patched(t, patch))
			wanted.SetNamespace("acme")
			return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("gitops"), client.ForceOwnership)
		}
	}
	status := func(c client.Client) func() error {
		return func() error {
			return c.Status().Patch(t.Context(), collector.DeepCopy(), client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata": {"annotations": {"kube8.dev/changed-by": "joe"}}, "status": {"version": "1"}}`)))
		}
	}
	for _, row := range []struct {
		name  string
		write func() error
		want  string
	}{
		{"an annotation alone is put back", merge(joe, `{metadata: {annotations: {kube8.dev/changed-by: joe}}}`), "jane"},
		{"one that is taken away is put back", merge(joe, `{metadata: {annotations: {kube8.dev/changed-by: null}}}`), "jane"},
		{"all of them that are taken away, too", merge(joe, `{metadata: {annotations: null}}`), "jane"},
		{"a finalizer of the operator leaves it", merge(operator, `{metadata: {finalizers: [example.com/a]}}`), "jane"},
		{"a status leaves it", status(joe), "jane"},
		{"a change of the spec is told", merge(joe, `{spec: {replicas: 2}}`), "joe"},
		{"whatever it says", merge(jane, `{metadata: {annotations: {kube8.dev/changed-by: joe}}, spec: {replicas: 3}}`), "jane"},
		{"also by a server-side apply", apply(joe, `{metadata: {annotations: {kube8.dev/changed-by: jane}}, spec: {replicas: 4}}`), "joe"},
		{"and one of the same leaves it", apply(jane, `{spec: {replicas: 4}}`), "joe"},
	} {
		g.Expect(row.write()).To(Succeed(), row.name)
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(collector.GroupVersionKind())
		g.Expect(p.client.Get(t.Context(), client.ObjectKeyFromObject(collector), found)).To(Succeed())
		g.Expect(found.GetAnnotations()[changedBy]).To(Equal(row.want), row.name)
	}
	g.Expect(merge(operator, `{metadata: {finalizers: null}}`)()).To(Succeed())

	older := object(t, patched(t, `{}`)) // from before the policy: nobody knows whose it is
	older.SetNamespace("acme")
	older.SetName("older")
	out, err = kubectlOn(t, p.kubeconfig, "delete", "-k", ga[strings.LastIndex(ga, " ")+1:])
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Eventually(func(g Gomega) {
		tried := older.DeepCopy()
		g.Expect(joe.Create(t.Context(), tried, client.DryRunAll)).To(Succeed())
		g.Expect(tried.GetAnnotations()).NotTo(HaveKey(changedBy))
	}).Should(Succeed())
	g.Expect(joe.Create(t.Context(), older.DeepCopy())).To(Succeed())
	out, err = kubectlOn(t, p.kubeconfig, strings.Fields(beta)[1:]...) // the same policy, as older API servers have it
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Eventually(func(g Gomega) {
		tried := older.DeepCopy()
		g.Expect(joe.Patch(t.Context(), tried, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata": {"annotations": {"kube8.dev/changed-by": "jane"}}}`)), client.DryRunAll)).To(Succeed())
		g.Expect(tried.GetAnnotations()).NotTo(HaveKey(changedBy))
	}).Should(Succeed())
}
