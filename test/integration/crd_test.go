package integration

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/offline"
	wiring "github.com/kube8/kube8-operator/internal/operator"
)

// validManifest is what the rows of the tables change. Its configuration is "exporters: {debug: {}} # …" and the secret.
const validManifest = `
apiVersion: kube8.dev/v1alpha1
kind: Collector
metadata:
  name: gateway
  namespace: default
spec:
  collector:
    name: opentelemetry-collector
    version: 0.150.0
    configuration: ZXhwb3J0ZXJzOiB7ZGVidWc6IHt9fSAjIGh1bnRlcjItaXMtbXktcGFzc3dvcmQ=
  tenant:
    id: "1042"
    reference: acme
  cluster: prod-eu-1
`

func TestTheAPIServerAndRenderRefuseTheSame(t *testing.T) {
	t.Parallel()
	renderer, err := offline.New(wiring.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range slices.Concat(manifests, malformed) {
		t.Run(row.name, func(t *testing.T) {
			manifest := patched(t, row.patch)
			t.Run("API server", func(t *testing.T) {
				// A dry run, for the operator has nothing to do with it.
				err := strict().Create(t.Context(), object(t, manifest), client.DryRunAll)
				expectRefusal(t, err, row.refusal)
				if err != nil {
					expectNoSecret(t, err.Error())
				}
			})
			t.Run("render", func(t *testing.T) {
				refusal := row.offline
				if refusal == "" {
					refusal = row.refusal
				}
				var out bytes.Buffer
				err := renderer.Files(t.Context(), []string{"-"}, bytes.NewReader(manifest), &out)
				expectRefusal(t, err, refusal)
				if err != nil {
					g := NewWithT(t)
					g.Expect(err.Error()).To(HavePrefix("standard input: Collector default/" + object(t, manifest).GetName() + ": "))
					g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
					expectNoSecret(t, err.Error())
					g.Expect(out.String()).To(BeEmpty())
				}
			})
		})
	}
}

func TestATenantCannotBeChanged(t *testing.T) {
	t.Parallel()
	collector := install(t)
	for patch, refusal := range map[string]string{
		`{spec: {tenant: {id: "1043"}}}`:                 "tenant.id cannot be changed; create another Collector for the other tenant",
		`{spec: {tenant: {reference: other}}}`:           "tenant.reference cannot be changed; create another Collector for the other tenant",
		`{spec: {tenant: {instance: staging}}}`:          "",
		`{spec: {tenant: {id: "1042"}, cluster: moved}}`: "",
	} {
		t.Run(patch, func(t *testing.T) {
			merge, err := yaml.YAMLToJSON([]byte(patch))
			if err != nil {
				t.Fatal(err)
			}
			err = plane.client.Patch(t.Context(), collector.DeepCopy(), client.RawPatch("application/merge-patch+json", merge), client.DryRunAll)
			expectRefusal(t, err, refusal)
		})
	}
}

func TestAServiceGetsAnAddressOnlyWhenItIsCreatedAgain(t *testing.T) {
	t.Parallel()
	const refusedNone = "service.clusterIP: it cannot become None as long as there is the Service; set service.enabled to false before"
	const refused = "service.clusterIP: None cannot be changed as long as there is the Service; set service.enabled to false before"
	for spec, rows := range map[string]map[string]string{
		`{clusterIP: None}`: {
			`{spec: {service: null}}`:                              refused,
			`{spec: {service: {clusterIP: null}}}`:                 refused,
			`{spec: {service: {clusterIP: "10.0.0.10"}}}`:          refused,
			`{spec: {service: {clusterIP: null, enabled: true}}}`:  refused,
			`{spec: {service: {clusterIP: null, enabled: false}}}`: "",
			`{spec: {service: {enabled: false}}}`:                  "",
			`{spec: {service: {headless: true}}}`:                  "",
			`{spec: {collector: {version: 0.151.0}}}`:              "",
		},
		`{clusterIP: None, enabled: false}`: {
			`{spec: {service: null}}`:                             "",
			`{spec: {service: {enabled: null}}}`:                  "",
			`{spec: {service: {clusterIP: null, enabled: null}}}`: "",
		},
		`{headless: true}`: {
			`{spec: {service: null}}`:              "",
			`{spec: {service: {clusterIP: None}}}`: "",
			`{spec: {service: {enabled: false}}}`:  "",
		},
		`null`: {
			`{spec: {replicas: 2}}`:                                "",
			`{spec: {service: {enabled: true}}}`:                   "",
			`{spec: {service: {clusterIP: None}}}`:                 refusedNone,
			`{spec: {service: {clusterIP: None, enabled: false}}}`: "",
		},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			collector := object(t, patched(t, "{metadata: {namespace: "+newNamespace(t)+"}, spec: {service: "+spec+"}}"))
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			for patch, refusal := range rows {
				merge, err := yaml.YAMLToJSON([]byte(patch))
				if err != nil {
					t.Fatal(err)
				}
				err = plane.client.Patch(t.Context(), collector.DeepCopy(), client.RawPatch("application/merge-patch+json", merge), client.DryRunAll)
				expectRefusal(t, err, refusal)
			}
		})
	}
}

func TestRenderEndsWithOneLineAndAnExitCode(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(shared.binary, "render", "--filename=-")
	cmd.Stdin = bytes.NewReader(patched(t, `{spec: {cluster: ""}}`))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	g := NewWithT(t)
	g.Expect(cmd.Run()).To(MatchError("exit status 1"))
	g.Expect(stdout.String()).To(BeEmpty())
	g.Expect(stderr.String()).To(MatchRegexp(`^standard input: Collector default/gateway: spec\.cluster: .*at least 1 chars.*\n$`))
}

// expectRefusal checks that err is the refusal that is wanted, or none for "".
func expectRefusal(t *testing.T, err error, refusal string) {
	t.Helper()
	g := NewWithT(t)
	if refusal == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	g.Expect(err).To(HaveOccurred())
	said := strings.ReplaceAll(err.Error(), `"object": `, "") // version 1.34 has it for each rule, and the type in place of a text
	if isOlder(t) && strings.Contains(said, `Invalid value: "string": `) {
		refusal = regexp.MustCompile(`Invalid value: "[^"]*": `).ReplaceAllString(refusal, `Invalid value: "string": `)
	}
	g.Expect(said).To(ContainSubstring(refusal))
}

// expectNoSecret checks that a text has no part of the configuration.
func expectNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, form := range secretForms() {
		NewWithT(t).Expect(text).NotTo(ContainSubstring(form))
	}
}

// strict is a client for which the API server refuses unknown fields, as it does for kubectl.
func strict() client.Client {
	return client.WithFieldValidation(plane.client, metav1.FieldValidationStrict)
}

func TestAnUnknownFieldIsRefusedOrDroppedAsTheClientAsks(t *testing.T) {
	t.Parallel()
	const typo, undeclared = `unknown field "spec.replica"`, ".spec.replica: field not declared in schema"
	manifest := patched(t, "spec: {replica: 2}")
	for validation, want := range map[client.FieldValidation]struct{ refusal, warning string }{
		"":                           {warning: typo},
		metav1.FieldValidationWarn:   {warning: typo},
		metav1.FieldValidationIgnore: {},
		metav1.FieldValidationStrict: {refusal: typo},
	} {
		var warnings bytes.Buffer
		config := rest.CopyConfig(plane.env.Config)
		config.WarningHandler = rest.NewWarningWriter(&warnings, rest.WarningWriterOptions{})
		c, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if validation != "" {
			c = client.WithFieldValidation(c, validation)
		}
		asks := string(cmp.Or(validation, "nothing"))
		t.Run("a client that creates and asks for "+asks, func(t *testing.T) {
			created := object(t, manifest)
			expectRefusal(t, c.Create(t.Context(), created, client.DryRunAll), want.refusal)
			g := NewWithT(t)
			g.Expect(warnings.String()).To(ContainSubstring(want.warning))
			if want.warning == "" {
				g.Expect(warnings.String()).To(BeEmpty())
			}
			if want.refusal == "" {
				g.Expect(created.Object["spec"]).NotTo(HaveKey("replica"))
			}
		})
		t.Run("a client that applies server-side and asks for "+asks, func(t *testing.T) {
			apply := client.ApplyConfigurationFromUnstructured(object(t, manifest))
			expectRefusal(t, c.Apply(t.Context(), apply, client.FieldOwner("test"), client.DryRunAll), undeclared)
		})
	}
	for name, row := range map[string]struct{ apply, refusal string }{
		"kubectl apply":               {"apply --dry-run=server -f", typo},
		"kubectl apply --server-side": {"apply --dry-run=server --server-side -f", undeclared},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "gateway.yaml")
			if err := os.WriteFile(file, manifest, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := kubectl(t, append(strings.Fields(row.apply), file)...)
			g := NewWithT(t)
			g.Expect(err).To(HaveOccurred())
			g.Expect(out).To(ContainSubstring(row.refusal))
		})
	}
}

// patched returns the valid manifest with a merge patch, in YAML, applied to it.
func patched(t *testing.T, patch string) []byte {
	t.Helper()
	valid, err := yaml.YAMLToJSON([]byte(validManifest))
	if err != nil {
		t.Fatal(err)
	}
	merge, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(patch, "\t", "  ")))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := jsonpatch.MergePatch(valid, merge)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func object(t *testing.T, manifest []byte) *unstructured.Unstructured {
	t.Helper()
	found := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &found.Object); err != nil {
		t.Fatal(err)
	}
	return found
}
