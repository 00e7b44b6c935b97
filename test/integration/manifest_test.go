package integration

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/text/encoding/unicode"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/offline"
	options "github.com/kube8/kube8-operator/internal/operator"
)

const (
	blockManifest = `apiVersion: kube8.dev/v1alpha1
kind: Collector
metadata:
  name: NAME
spec:
  collector: {name: opentelemetry-collector, version: 0.160.0}
  tenant: {id: "1042", reference: acme}
  cluster: prod
`
	jsonManifest = `{"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "metadata": {"name": "NAME"}, "spec": {"collector": ` +
		`{"name": "opentelemetry-collector", "version": "0.160.0"}, "tenant": {"id": "1042", "reference": "acme"}, "cluster": "prod"}}`
)

// manifestsOfEncoders are what people and encoders write. NAME is the name of a Collector, and OTHER that of another one.
var manifestsOfEncoders = []struct{ name, text string }{
	{"a byte order mark", "\ufeff" + blockManifest},                                                   // microsoft/winget-cli#5502: editors on Windows
	{"line ends of Windows", strings.ReplaceAll("---\n"+blockManifest, "\n", "\r\n")},                 // go-yaml/yaml#562
	{"UTF-16", "UTF-16" + blockManifest},                                                              // kubernetes/kubernetes#39007, fluxcd/flux2#1126: > of PowerShell
	{"tabs beside values", strings.ReplaceAll(blockManifest, "cluster: prod", "cluster:\tprod\t# a")}, // istio/istio#13691
	{"JSON, indented by tabs", strings.ReplaceAll(jsonManifest, ", ", ",\n\t") + "\n\n"},
	{"JSON documents in a row", jsonManifest + strings.ReplaceAll(jsonManifest, "NAME", "OTHER")}, // jq, and kubectl get -o json of several
	{"documents of comments", "# a\n--- # b\n# c\n---\n" + blockManifest + "---\n# d\n"},          // helm template
	{"a separator after all", blockManifest + "---\n"},
	{"the end of a document", blockManifest + "...\n"},
	{"anchors and merges", strings.ReplaceAll(blockManifest, "name: NAME\n", "name: NAME\n  labels: &a {b: c}\n  annotations: {<<: *a, d: e}\n")},
	{"keys in quotes, and escapes", strings.NewReplacer("kind:", `"kind":`, "cluster: prod", `'cluster': "pr\u006fd"`).Replace(blockManifest)},
	{"numbers of YAML 1.1", blockManifest + "  replicas: 0o2\n  terminationGracePeriodSeconds: 1e2\n  service: {enabled: yes}\n"},
	{"a folded text", strings.ReplaceAll(blockManifest, "cluster: prod", "cluster: >-\n    prod")},
	{"a List", "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n- " + jsonManifest + "\n"}, // kubectl get -o yaml
	{"a CollectorList", "apiVersion: kube8.dev/v1alpha1\nkind: CollectorList\nitems:\n- " +
		strings.Replace(jsonManifest, `"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", `, "", 1) + "\n"},
}

// refusedManifests are what kubectl refuses. Our tools say in which document and line.
var refusedManifests = []struct{ name, text, want string }{
	{"a bracket that is not closed", "# a\n---\n" + blockManifest + "  args: [hunter2\n", "document 2, line 11: "},
	{"a tab as indentation", blockManifest + "\treplicas: 2\n", "document 1, line 9: has a tab"},
	{"a statement of a template", "{{- if hunter2 }}\n" + blockManifest, "document 1, line 1: has a statement of a template"},
	{"text beside a separator", "--- hunter2\n" + blockManifest, "document 1, line 1: --- and text on one line"},
	{"a directive", "%YAML 1.2\n---\n" + blockManifest, "document 1, line 1: has a directive"},
	{"JSON that is cut off", strings.TrimSuffix(jsonManifest, "}}"), "document 1, line 1: has a [ or {"},
	{"no kind", strings.ReplaceAll(blockManifest, "kind: Collector\n", ""), "document 1, line 1: no kind"},
	{"a list of objects", "- " + jsonManifest, "document 1, line 1: not a Kubernetes object"},
}

func TestOurToolsReadWhatKubectlReads(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p := pluginIn(t, namespace)
	renderer, err := offline.New(options.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(file string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "kubectl", "apply", "--server-side", "--field-manager=kubectl-itself", "--dry-run=server", "-o", "json", "-f", file)
		cmd.Env, cmd.Dir = p.env, p.dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, row := range manifestsOfEncoders {
		t.Run(row.name, func(t *testing.T) {
			g, p := NewWithT(t), p.in(t)
			name := "a" + strings.ToLower(strings.NewReplacer(" ", "", ",", "", ".", "", "-", "").Replace(row.name))
			text := strings.NewReplacer("NAME", name, "OTHER", name+"-other").Replace(row.text)
			if rest, is := strings.CutPrefix(text, "UTF-16"); is {
				text, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(rest)
				g.Expect(err).NotTo(HaveOccurred())
			}
			file := p.write("manifest", text)
			out, err := kubectl(file)
			g.Expect(err).NotTo(HaveOccurred(), out)
			want := specsIn(t, out)
			g.Expect(want).NotTo(BeEmpty())

			rendered, err := renderer.Render(t.Context(), strings.NewReader(text))
			g.Expect(err).NotTo(HaveOccurred(), "render")
			g.Expect(rendered).To(HaveLen(len(want)), "render")
			p.run("plan", "-f", file)
			p.run("apply", "-f", file)
			for name, spec := range want {
				got := &unstructured.Unstructured{}
				got.SetAPIVersion("kube8.dev/v1alpha1")
				got.SetKind("Collector")
				g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, got)).To(Succeed())
				g.Expect(got.Object["spec"]).To(Equal(spec), "after apply")
			}
		})
	}
	for _, row := range refusedManifests {
		t.Run(row.name, func(t *testing.T) {
			g, p := NewWithT(t), p.in(t)
			text := strings.ReplaceAll(row.text, "NAME", "refused")
			file := p.write("manifest", text)
			out, err := kubectl(file)
			g.Expect(err).To(HaveOccurred(), "kubectl takes it: %s", out)
			_, failure := p.try("plan", "-f", file)
			g.Expect(failure).To(And(ContainSubstring(row.want), Not(ContainSubstring("hunter2"))))
			_, err = renderer.Render(t.Context(), strings.NewReader(text))
			g.Expect(err).To(MatchError(And(HavePrefix(row.want), Not(ContainSubstring("hunter2")))))
		})
	}
}

// specsIn returns the specs of the objects that kubectl prints, by name.
func specsIn(t *testing.T, out string) map[string]any {
	t.Helper()
	specs := map[string]any{}
	for decoder := json.NewDecoder(strings.NewReader(out)); decoder.More(); {
		object := &unstructured.Unstructured{}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if err := object.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		items := []unstructured.Unstructured{*object}
		if list, err := object.ToList(); err == nil && object.IsList() {
			items = list.Items
		}
		for _, item := range items {
			specs[item.GetName()] = item.Object["spec"]
		}
	}
	return specs
}
