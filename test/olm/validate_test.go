//go:build e2e

package olm

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
