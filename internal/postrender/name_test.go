package postrender

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestRunNamesTheSecretAfterItsContent(t *testing.T) {
	// The digits are those of `sha256sum config.yaml | sha256sum`, and with more files of `sha256sum a.lua config.yaml | sha256sum`.
	const own = "gateway-config-271f3e8a98"
	projected := strings.Replace(deployment, "        secret:\n          secretName: gateway-config\n",
		"        projected:\n          sources:\n          - secret: {name: team-config}\n          - secret: {name: gateway-config}\n", 1)
	running := func(text string) string {
		t.Helper()
		var workload struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(text), &workload); err != nil {
			t.Fatal(err)
		}
		return Running(&workload.Spec.Template)
	}
	asBefore := strings.Replace(stampedDeployment, own, "gateway-config", 1)
	for name, row := range map[string]struct {
		manifest, running, want string
		times                   int
	}{
		"for each volume that mounts it": {
			manifest: docs(secret("yaml", encode(config)), deployment, projected), want: own, times: 3,
		},
		"in another way if it has another file": {
			manifest: docs(secret("yaml", encode(config))+"  a.lua: "+encode("x")+"\n", deployment), want: "gateway-config-ed1e8458fe", times: 2,
		},
		"in another way if the file has another name": {
			manifest: docs(strings.ReplaceAll(secret("yaml", encode(config)), "config.yaml", "otel.yaml"), deployment),
			want:     "gateway-config-c1275c9f8e", times: 2,
		},
		"but not while the same content runs under the name of before": {
			manifest: docs(secret("yaml", encode(config)), deployment), running: running(asBefore), want: "gateway-config\n", times: 2,
		},
		"as soon as the content is another": {
			manifest: docs(secret("yaml", encode(config)), deployment), running: running(strings.Replace(asBefore, configHash, "0123", 1)),
			want: own, times: 2,
		},
		"while nothing but a Secret of the user runs": {
			manifest: docs(secret("yaml", encode(config)), deployment),
			running:  running(strings.Replace(asBefore, "gateway-config", "team-config", 1)), want: own, times: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Renderer{Running: row.running}.Run(bytes.NewBufferString(row.manifest))
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if got := strings.Count(out.String(), row.want); got != row.times {
				t.Errorf("%q is there %d times, want %d, in\n%s", row.want, got, row.times, out)
			}
			if got := strings.Contains(out.String(), "immutable: true"); got == strings.HasSuffix(row.want, "\n") {
				t.Errorf("immutable is %t in\n%s", got, out)
			}
		})
	}
	if got := running(stampedDeployment); got != "" {
		t.Errorf("of a Secret that is named after its content, Running says %q, want nothing", got)
	}
}
