package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const manifests = "/manifests/" + tenant

// opened returns the Collector gateway as the editor has it, and its ETag.
func opened(t *testing.T, query string) (text, tag string) {
	t.Helper()
	response, err := http.Get(portalURL + manifests + "/gateway" + query) //nolint:noctx // the test's server ends it
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = textOf(response)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("open: %d %s %v", response.StatusCode, text, err)
	}
	return text, response.Header.Get("ETag")
}

// save sends what the editor has. It returns the difference, or why not.
func save(t *testing.T, query, text string, header ...string) (code int, says string) {
	t.Helper()
	code, says = callText(t, http.MethodPut, manifests+query, text, header...)
	var saved struct{ Difference string }
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(says), &saved); err != nil {
			t.Fatal(err)
		}
		says = saved.Difference
	}
	return code, says
}

func TestAnyFieldIsEditedAsYAML(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	edited := get(t)
	edited.Spec.Collector.Configuration, edited.Spec.Collector.ConfigurationText = []byte(valid().Configuration), ""
	edited.Finalizers = []string{"kube8.dev/test"}
	g.Expect(admin.Update(t.Context(), edited)).To(Succeed())
	t.Cleanup(func() {
		_ = admin.Patch(context.Background(), named("gateway"), client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))
	})
	text, tag := opened(t, "")
	g.Expect(text).To(And(ContainSubstring("configurationText: |"), ContainSubstring(secret), Not(ContainSubstring("resourceVersion"))))
	text = strings.Replace(text, "spec:\n", "spec:\n  replicas: 3\n", 1)

	code, difference := save(t, "?dryRun=All", text, "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusOK), difference)
	g.Expect(difference).To(And(ContainSubstring("\n+  replicas: 3\n"), Not(ContainSubstring("\n-"))))
	g.Expect(get(t).Spec.Replicas).To(BeNil(), "a dry run writes nothing")

	observe(t, corev1.ConditionTrue, "Available") // a new status is no change by a user
	code, difference = save(t, "", text, "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusOK), difference)
	saved := get(t)
	g.Expect(saved.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	g.Expect(string(saved.Spec.Collector.Configuration)).To(Equal(valid().Configuration), "base64 stays base64")
	g.Expect(saved.Spec.Collector.ConfigurationText).To(BeEmpty())
	g.Expect(saved.Finalizers).To(Equal([]string{"kube8.dev/test"}))

	t.Run("and what was before is told without the configuration, and comes back", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(aboutGateway(t, historyTab)).To(And(MatchRegexp(`(?s)spec\.replicas.*–.*3`), Not(ContainSubstring(secret))))
		text, tag := opened(t, "?before=true")
		g.Expect(text).NotTo(ContainSubstring("replicas"))
		code, difference := save(t, "", text, "If-Match", tag)
		g.Expect(code).To(Equal(http.StatusOK), difference)
		g.Expect(get(t).Spec.Replicas).To(BeNil())
		text, _ = opened(t, "?before=true")
		g.Expect(text).To(ContainSubstring("replicas: 3"), "a way back from the way back")
	})
}

func TestWhatChangedIsToldWithoutConfigurations(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	text, tag := opened(t, "")
	text = strings.NewReplacer("debug: {}", "debug: {} # another", "0.150.0", "0.151.0").Replace(text)
	code, says := save(t, "", text, "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusOK), says)
	g.Expect(aboutGateway(t, historyTab)).To(And(MatchRegexp(`(?s)configurationText.*\(hidden\).*\(hidden\).*version.*0\.150\.0.*0\.151\.0`), Not(ContainSubstring(secret))))
	text, _ = opened(t, "?before=true")
	g.Expect(text).To(And(ContainSubstring("version: 0.150.0"), ContainSubstring("debug: {} # "+secret)))
}

func TestTheEditorSaysAllThatIsWrong(t *testing.T) {
	put(t, "gateway", valid())
	kept := get(t)
	kept.Labels = map[string]string{"argocd.argoproj.io/instance": "shop"}
	NewWithT(t).Expect(admin.Patch(t.Context(), kept, client.MergeFrom(get(t)))).To(Succeed())
	valid, tag := opened(t, "")
	code, says := call(t, http.MethodPut, "/collectors/"+tenant+"/gateway?force=true",
		wanted{Collector: "grafana/alloy", Version: "1", Tenant: "acme", TenantID: "1042", Cluster: "prod-eu-1"})
	NewWithT(t).Expect(code).To(Equal(http.StatusNoContent), says)
	_, newer := opened(t, "")
	for _, row := range []struct {
		name, query, text, tag string
		code                   int
		message                string
	}{
		{name: "two wrong values, a line each", query: "?dryRun=All", text: strings.NewReplacer("cluster: prod-eu-1", "cluster: 'a b'", `id: "1042"`, "id: a b").Replace(valid),
			tag: newer, code: 422, message: "\nspec.cluster: Invalid value"},
		{name: "a field that there is not", query: "?dryRun=All", text: strings.Replace(valid, "spec:\n", "spec:\n  replica: 1\n", 1), tag: newer, code: 400, message: `unknown field "spec.replica"`},
		{name: "a field of metadata that there is not", text: strings.Replace(valid, "  name: gateway", "  name: other\n  lables: {}", 1), code: 400, message: `unknown field "metadata.lables"`},
		{name: "no YAML", text: "a: b: c", code: 400, message: "this is not the YAML of a Collector"},
		{name: "a field twice", text: valid + "spec: {}\n", code: 400, message: `key "spec" already set`},
		{name: "no mapping", text: "[]", code: 400, message: "this is not the YAML of a Collector"},
		{name: "nothing", text: "", code: 400, message: "this is not the YAML of a Collector"},
		{name: "another kind", text: "{apiVersion: v1, kind: Pod, metadata: {name: a}}", code: 400, message: "apiVersion, kind: must be kube8.dev/v1alpha1, Collector"},
		{name: "no name", text: "{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: []}", code: 400, message: "metadata.name: missing"},
		{name: "another namespace", text: strings.Replace(valid, "  name: gateway", "  name: gateway\n  namespace: tenant-globex", 1), code: 400, message: "metadata.namespace: must be tenant-acme"},
		{name: "a Collector that is there", text: valid, code: 409, message: `collectors.kube8.dev "gateway" already exists`},
		{name: "one that somebody has changed since", text: valid, tag: tag, code: 409, message: "this Collector has changed since you opened it"},
		{name: "one that a GitOps tool manages", text: valid, tag: newer, code: 409, message: "application shop of Argo CD manages this Collector and would change it back"},
		{name: "one that a GitOps tool manages, confirmed", query: "?force=true", text: valid, tag: newer, code: 200, message: "+    name: opentelemetry-collector"},
		{name: "what is too large", text: strings.Repeat("#", 1<<20+1), code: 413, message: "at most 256 KiB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			header := []string{}
			if row.tag != "" {
				header = []string{"If-Match", row.tag}
			}
			code, says := save(t, row.query, row.text, header...)
			g := NewWithT(t)
			g.Expect(code).To(Equal(row.code), says)
			g.Expect(says).To(ContainSubstring(row.message))
		})
	}
}

func TestANewCollectorIsMadeFromYAML(t *testing.T) {
	g := NewWithT(t)
	const text = "{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {collector: {name: grafana/alloy, version: '1'}, tenant: {id: '1', reference: a}, cluster: c}}"
	code, says := save(t, "?dryRun=All", text)
	g.Expect(code).To(Equal(http.StatusOK), says)
	g.Expect(says).To(ContainSubstring("\n+  cluster: c\n"))
	g.Expect(client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(named("gateway")), named("gateway")))).To(Succeed())
	code, says = save(t, "", text)
	g.Expect(code).To(Equal(http.StatusOK), says)
	t.Cleanup(func() { _ = admin.Delete(context.Background(), named("gateway")) })
	g.Expect(get(t).Spec.Collector.Name).To(Equal("grafana/alloy"))
	code, says = call(t, http.MethodGet, manifests+"/gateway?before=true", nil)
	g.Expect(code).To(Equal(http.StatusBadRequest))
	g.Expect(says).To(ContainSubstring("nothing is kept of what was before"))
}
