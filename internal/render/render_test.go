package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/internal/render"
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

// newRenderer renders with the shipped watches file and chart, whose path is relative to the root of the repository.
func newRenderer(t *testing.T, opts operator.Options, apiVersions ...string) *render.Renderer {
	t.Helper()
	t.Chdir("../..")
	opts.WatchesFile = "watches.yaml"
	ws, err := operator.LoadWatches(opts)
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := render.New(ws, apiVersions)
	if err != nil {
		t.Fatal(err)
	}
	return renderer
}

func TestFilesPrintsTheManifestsOfEachCollectorAndNothingElse(t *testing.T) {
	out := &strings.Builder{}
	input := configMap + "---\n" + collector + "---\n" + strings.Replace(collector, "namespace: team-a", "namespace: team-b", 1)
	if err := newRenderer(t, operator.Options{}).Files(t.Context(), "-", strings.NewReader(input), out); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"kind: Deployment":                          2,
		`namespace: "team-b"`:                       4,
		"\"config.yaml\": \"cmVjZWl2ZXJzOiB7fQo=\"": 2,
		"kind: ConfigMap":                           0,
		"opentelemetry-collector:0.150.0":           2,
		"kind: ServiceMonitor":                      0,
		"kube8.dev/config-sha256: a2562a2b6beb468":  2,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q occurs %d times, want %d in\n%s", text, got, want, out)
		}
	}
}

func TestFilesHonoursTheOptionsThatDecideWhatIsRendered(t *testing.T) {
	out := &strings.Builder{}
	renderer := newRenderer(t, operator.Options{CollectorRegistry: "mirror.test/otel"}, "monitoring.coreos.com/v1/ServiceMonitor")
	renderer.Watches[0].OverrideValues = map[string]string{"priorityClassName": "tenants"}
	input := collector + "  serviceMonitor: {enabled: true}\n"
	if err := renderer.Files(t.Context(), "-", strings.NewReader(input), out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"image: mirror.test/otel/opentelemetry-collector:0.150.0",
		"kind: ServiceMonitor",
		"priorityClassName: tenants",
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
			want: object + "unknown field spec.resources.limitz",
		},
		"bad base64, without quoting it": {
			old: "cmVjZWl2ZXJzOiB7fQo=", new: "c2Vj*",
			want: object + "spec.collector.configuration: not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`",
		},
		"a configuration that is not a mapping, without quoting it": {
			old: "cmVjZWl2ZXJzOiB7fQo=", new: "LSBzZWNyZXQK",
			want: object + `spec.collector.configuration: line 1 is not a YAML mapping; start with a key such as "receivers:", or set format to raw`,
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
			want: "ports.grpc and ports.otlp are both 4317",
		},
		"a file without a Collector": {
			old: collector, new: configMap,
			want: "no Collector in it; it needs apiVersion kube8.dev/v1alpha1 and kind Collector",
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
			err := renderer.Files(t.Context(), file, nil, out)
			if err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got error  %v\nwant one line with %s: %s", err, file, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("something was printed all the same:\n%s", out)
			}
		})
	}
}

func TestFilesSaysOneLineForEachProblemOfWhatACollectorIsRenderedTo(t *testing.T) {
	bad := strings.Replace(collector, "cluster: prod", "cluster: prod\n  env: [{name: TOKEN=hunter2}]\n  priorityClassName: Urgent", 1)
	err := newRenderer(t, operator.Options{}).Files(t.Context(), "-", strings.NewReader(bad), &strings.Builder{})
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

func TestFilesSaysOneLineForEachBadCollectorOfAFolder(t *testing.T) {
	renderer := newRenderer(t, operator.Options{})
	folder := t.TempDir()
	bad := strings.Replace(collector, "t-1", "'t 1'", 1)
	for name, text := range map[string]string{"a.yaml": bad + "---\n" + collector, "b.yml": bad, "c.txt": bad} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := renderer.Files(t.Context(), folder, nil, &strings.Builder{})
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "a.yaml: ") || !strings.Contains(err.Error(), "b.yml: ") {
		t.Errorf("got error %v, want a line for a.yaml and one for b.yml", err)
	}
}
