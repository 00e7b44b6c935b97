package offline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
)

const collector = `apiVersion: kube8.dev/v1alpha1
kind: Collector
metadata: {name: gateway, namespace: team-a}
spec:
  collector: {name: opentelemetry-collector, version: v0.150.0, configuration: cmVjZWl2ZXJzOiB7fQo=}
  tenant: {id: t-1, reference: Team-A}
  cluster: prod
`

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"

// newRenderer renders with the chart that the binary embeds.
func newRenderer(t *testing.T, opts operator.Options, apiVersions ...string) *offline.Renderer {
	t.Helper()
	renderer, err := offline.New(opts, apiVersions)
	if err != nil {
		t.Fatal(err)
	}
	return renderer
}

func TestFilesPrintsTheManifestsOfEachCollectorAndNothingElse(t *testing.T) {
	out := &strings.Builder{}
	input := configMap + "---\n" + collector + "---\n" + strings.Replace(collector, "namespace: team-a", "namespace: team-b", 1)
	if err := newRenderer(t, operator.Options{}).Files(t.Context(), []string{"-"}, strings.NewReader(input), out); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"kind: Deployment":                          2,
		`namespace: "team-b"`:                       4,
		"\"config.yaml\": \"cmVjZWl2ZXJzOiB7fQo=\"": 2,
		"kind: ConfigMap":                           0,
		"opentelemetry-collector:0.150.0":           2,
		"kind: ServiceMonitor":                      0,
		"kube8.dev/config-sha256: 'a2562a2b6beb468": 4,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q occurs %d times, want %d in\n%s", text, got, want, out)
		}
	}
}

func TestFilesRendersTheItemsOfAList(t *testing.T) {
	indented := "- " + strings.TrimSpace(strings.ReplaceAll(collector, "\n", "\n  ")) + "\n"
	out := &strings.Builder{}
	list := "apiVersion: v1\nkind: List\nitems:\n" + indented + strings.Replace(indented, "team-a", "team-b", 1)
	if err := newRenderer(t, operator.Options{}).Files(t.Context(), []string{"-"}, strings.NewReader(list), out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "kind: Deployment"); got != 2 {
		t.Errorf("%d Deployments, want 2, in\n%s", got, out)
	}
}

func TestFilesHonoursTheOptionsThatDecideWhatIsRendered(t *testing.T) {
	out := &strings.Builder{}
	renderer := newRenderer(t, operator.Options{CollectorRegistry: "mirror.test/otel", Namespace: "operators"}, "monitoring.coreos.com/v1/ServiceMonitor")
	renderer.Watches[0].OverrideValues = map[string]string{"priorityClassName": "tenants"}
	input := collector + "  serviceMonitor: {enabled: true}\n  flow: {}\n  networkPolicy: {enabled: true}\n"
	if err := renderer.Files(t.Context(), []string{"-"}, strings.NewReader(input), out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`image: "mirror.test/otel/opentelemetry-collector:0.150.0"`,
		"kind: ServiceMonitor",
		`priorityClassName: "tenants"`,
		`kubernetes.io/metadata.name: "operators"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestFilesRefuses(t *testing.T) {
	const object = "Collector team-a/gateway: "
	tests := map[string]struct{ old, new, want string }{
		"a missing field": {
			old: ", reference: Team-A", new: "",
			want: object + "spec.tenant.reference: Required value",
		},
		"an unknown field, at any depth": {
			old: "cluster: prod", new: "cluster: prod\n  resources: {limitz: {}}",
			want: object + "spec.resources.limitz: unknown field; check its spelling and its indentation",
		},
		"bad base64, without quoting it": {
			old: "cmVjZWl2ZXJzOiB7fQo=", new: "c2Vj*",
			want: object + "spec.collector.configuration: not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`",
		},
		"a configuration that is not a mapping, without quoting it": {
			old: "cmVjZWl2ZXJzOiB7fQo=", new: "LSBzZWNyZXQK",
			want: object + `spec.collector.configuration: line 1 is not a YAML mapping; start with a key such as "receivers:", or set format to raw if the file is not YAML`,
		},
		"a broken rule of the schema": {
			old: "cluster: prod", new: "cluster: prod\n  mode: daemonset\n  replicas: 2",
			want: object + "spec: Invalid value: replicas: not with mode daemonset, which runs one pod on each node; remove replicas or choose mode deployment or statefulset",
		},
		"a name that cannot be a release's": {
			old: "name: gateway", new: "name: gate.way",
			want: "Collector team-a/gate.way: metadata.name: lower-case letters, digits and '-', starting with a letter, because it is the name of the Service",
		},
		"a clash that only the chart can see": {
			old: "cluster: prod", new: "cluster: prod\n  ports: {grpc: {port: 4317}}",
			want: object + "spec: ports.grpc and ports.otlp are both 4317/TCP; change one of the numbers, or remove one with enabled: false",
		},
		"a file without a Collector": {
			old: collector, new: configMap,
			want: "no Collector in it; it needs apiVersion kube8.dev/v1alpha1 and kind Collector",
		},
		"a file that is not YAML": {
			old: "kind: Collector", new: "kind: [",
			want: "document 1, line 2: has a [ or { that is not closed",
		},
		"a key that is there twice": {
			old: "cluster: prod", new: "cluster: prod\n  cluster: stage",
			want: `document 1, line 8: key "cluster" already set in map; remove it`,
		},
		"a document that is not an object": {
			old: collector, new: "- text\n",
			want: "document 1, line 1: not a Kubernetes object; ",
		},
	}
	renderer := newRenderer(t, operator.Options{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.yaml")
			if err := os.WriteFile(file, []byte(strings.Replace(collector, test.old, test.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			out := &strings.Builder{}
			err := renderer.Files(t.Context(), []string{file}, nil, out)
			if err == nil || !strings.HasPrefix(err.Error(), file+": "+test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got error       %v\nwant one line of %s: %s", err, file, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("something was printed all the same:\n%s", out)
			}
		})
	}
}

func TestFilesSaysOneLineForEachProblemOfWhatACollectorIsRenderedTo(t *testing.T) {
	bad := strings.Replace(collector, "cluster: prod", "cluster: prod\n  env: [{name: TOKEN=hunter2}]\n  priorityClassName: Urgent", 1)
	err := newRenderer(t, operator.Options{}).Files(t.Context(), []string{"-"}, strings.NewReader(bad), &strings.Builder{})
	const start = "standard input: Collector team-a/gateway: spec."
	if err == nil {
		t.Fatal("got no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], start+"env[0].name: ") || !strings.HasPrefix(lines[1], start+"priorityClassName: ") {
		t.Errorf("got error\n%v\nwant a line for env[0].name and one for priorityClassName", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error has a credential: %v", err)
	}
}

// writeInputs writes a folder with good and bad Collectors, and returns it.
func writeInputs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	bad := strings.Replace(collector, "t-1", "'t 1'", 1)
	worse := strings.Replace(bad, "cluster: prod", "clutser: prod", 1)
	for name, text := range map[string]string{
		"good.yaml": collector, "bad.yaml": bad + "---\n" + collector, "worse.yml": worse, "ignored.txt": bad, "other.json": "{}",
		"values.json": `{"items": ["text"]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestFilesSaysALineForEachProblem(t *testing.T) {
	const (
		id      = ": Collector team-a/gateway: spec.tenant.id: Invalid value: "
		typo    = ": Collector team-a/gateway: spec.clutser: unknown field"
		cluster = ": Collector team-a/gateway: spec.cluster: Required value"
		none    = ": no Collector in it"
	)
	for name, test := range map[string]struct {
		paths     []string // in the folder
		allowNone bool
		want      []string // how each line begins
	}{
		"a good file":                           {paths: []string{"good.yaml"}},
		"a bad file beside a good one":          {paths: []string{"good.yaml", "bad.yaml"}, want: []string{"bad.yaml" + id}},
		"several problems of one Collector":     {paths: []string{"worse.yml"}, want: []string{"worse.yml" + typo, "worse.yml" + id, "worse.yml" + cluster}},
		"a folder's YAML and JSON":              {paths: []string{"."}, want: []string{"bad.yaml" + id, "worse.yml" + typo, "worse.yml" + id, "worse.yml" + cluster}},
		"standard input, which is good":         {paths: []string{"-"}},
		"a file that is not there":              {paths: []string{"none.yaml", "bad.yaml"}, want: []string{"none.yaml: cannot be read: ", "bad.yaml" + id}},
		"no Collector at all":                   {paths: []string{"other.json"}, want: []string{"other.json" + none}},
		"no Collector at all, which is allowed": {paths: []string{"other.json"}, allowNone: true},
		"items that are no objects":             {paths: []string{"values.json", "good.yaml"}},
		"no Collector in one file of several":   {paths: []string{"other.json", "good.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			renderer := newRenderer(t, operator.Options{})
			renderer.AllowNone = test.allowNone
			t.Chdir(writeInputs(t))
			err := renderer.Files(t.Context(), test.paths, strings.NewReader(collector), &strings.Builder{})
			if len(test.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("got no error, want %q", test.want)
			}
			lines := strings.Split(err.Error(), "\n")
			if !slices.EqualFunc(lines, test.want, strings.HasPrefix) {
				t.Errorf("got the lines\n%s\nwant lines that begin with\n%s", err, strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestFilesWritesJSON(t *testing.T) {
	renderer := newRenderer(t, operator.Options{})
	renderer.JSON = true
	t.Chdir(writeInputs(t))

	out := &strings.Builder{}
	if err := renderer.Files(t.Context(), []string{"good.yaml", "-"}, strings.NewReader(collector), out); err != nil {
		t.Fatal(err)
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.GetKind())
	}
	want := slices.Repeat([]string{"ServiceAccount", "Secret", "Service", "Deployment"}, 2)
	if list.GetKind() != "List" || list.GetAPIVersion() != "v1" || !slices.Equal(kinds, want) {
		t.Errorf("got %s %s of %v, want v1 List of %v", list.GetAPIVersion(), list.GetKind(), kinds, want)
	}

	out.Reset()
	if err := renderer.Files(t.Context(), []string{"good.yaml", "bad.yaml"}, nil, out); err == nil {
		t.Error("a bad Collector is no error")
	}
	const problems = `{
  "problems": [
    {
      "file": "bad.yaml",
      "collector": "team-a/gateway",
      "field": "spec.tenant.id",
      "message": "Invalid value: spec.tenant.id in body should match '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'"
    }
  ]
}
`
	if out.String() != problems {
		t.Errorf("got %s\nwant %s", out, problems)
	}
}
