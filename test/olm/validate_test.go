//go:build e2e

package olm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// validators are those of `operator-sdk bundle validate` that need no registry: all but multiarch, which pulls images. Each
// has the warning that is to be expected, which CONTRIBUTING.md explains.
var validators = []struct{ name, warning string }{
	{"operatorhubv2", ""},
	{"capabilities", ""},
	{"categories", ""},
	{"alpha-deprecated-apis", ""},
	{"good-practices", ""},
	{"community", ""},
	{"operatorhub", `The "operatorhub" validator is deprecated`},
}

func TestValidateTheBundle(t *testing.T) {
	report(t, "operator-sdk bundle validate", "as a whole")
	sdk := filepath.Join(programs(t, "operator-sdk"), "operator-sdk")
	listed := command(t, sdk, "bundle", "validate", "--list-optional")
	for line := range strings.Lines(listed[strings.Index(listed, "\n")+1:]) {
		name, _, _ := strings.Cut(line, " ")
		if name != "" && name != "multiarch" && !slices.ContainsFunc(validators, func(v struct{ name, warning string }) bool { return v.name == name }) {
			t.Errorf("there is also the validator %q", name)
		}
	}
	for _, validator := range validators {
		t.Run(validator.name, func(t *testing.T) {
			warn := report(t, "operator-sdk bundle validate", validator.name)
			out, err := output(t.Context(), sdk, "bundle", "validate", "./bundle", "--select-optional=name="+validator.name, "-o", "json-alpha1")
			if err != nil {
				t.Error(err)
			}
			var found struct {
				Outputs []struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			for _, o := range found.Outputs {
				warn(o.Message)
				if validator.warning == "" || !strings.Contains(o.Message, validator.warning) {
					t.Errorf("%s: %s", o.Type, o.Message)
				}
			}
		})
	}
}

func TestValidateTheCatalog(t *testing.T) {
	report(t, "opm validate", "catalog")
	command(t, filepath.Join(programs(t, "opm"), "opm"), "validate", "catalog")
}

// OLM v1 installs a bundle for all namespaces, and refuses one that has dependencies, or a version that it cannot order.
func TestValidateForOLMv1(t *testing.T) {
	report(t, "catalog for OLM v1", "versions, install mode, no dependencies, no webhooks")
	files, err := filepath.Glob("catalog/kube8-operator/kube8-operator.v*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the catalog has no bundles, %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var bundle struct {
			Properties []struct {
				Type  string
				Value struct {
					Version      string
					InstallModes []struct {
						Type      string
						Supported bool
					}
				}
			}
		}
		if err := yaml.Unmarshal(content, &bundle); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found := map[string]bool{}
		for _, property := range bundle.Properties {
			found[property.Type] = true
			switch property.Type {
			case "olm.package":
				if v, err := utilversion.ParseSemantic(property.Value.Version); err != nil || v.BuildMetadata() != "" {
					t.Errorf("%s: version %q: %v", file, property.Value.Version, err)
				}
			case "olm.csv.metadata":
				for _, mode := range property.Value.InstallModes {
					found[mode.Type] = mode.Supported
				}
			case "olm.gvk":
			default:
				t.Errorf("%s: property %s", file, property.Type)
			}
		}
		if !found["olm.package"] || !found["AllNamespaces"] {
			t.Errorf("%s: has no version, or is not for all namespaces", file)
		}
	}
	csv, err := os.ReadFile("bundle/manifests/kube8-operator.clusterserviceversion.yaml")
	if err != nil || strings.Contains(string(csv), "webhookdefinitions:") || !strings.Contains(string(csv), "apiservicedefinitions: {}") {
		t.Errorf("the bundle has webhooks or API services, %v", err)
	}
}
