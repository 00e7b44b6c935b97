package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"
)

func TestStatements(t *testing.T) {
	built := map[string]string{"stdlib": "v1.26.8", "example.com/module": "v1.2.0"}
	for name, row := range map[string]struct {
		finding finding
		want    vexStatement
		fails   string
	}{
		"code that the operator does not call": {
			finding: finding{Module: "stdlib", Fixed: "v1.26.9", Status: "not_affected", Justification: "vulnerable_code_not_in_execute_path"},
			want:    vexStatement{Status: "not_affected", Justification: "vulnerable_code_not_in_execute_path", Products: of("stdlib@v1.26.8")},
		},
		"code that it calls, and that a newer version mends": {
			finding: finding{Module: "stdlib", Fixed: "v1.26.10", Status: "affected"},
			want: vexStatement{
				Status: "affected", ActionStatement: "Update to a release that is built with stdlib v1.26.10 or newer.", Products: of("stdlib@v1.26.8"),
			},
		},
		"code that it calls, and that no version mends": {
			finding: finding{Module: "example.com/module", Status: "affected"},
			want: vexStatement{
				Status: "affected", ActionStatement: "example.com/module has no fix yet: watch for a release that has one.",
				Products: of("example.com/module@v1.2.0"),
			},
		},
		"a version that has the fix is refused": {
			finding: finding{Module: "example.com/module", Fixed: "v1.2.0", Status: "affected"},
			fails:   "tools/release/vex.yaml: GO-1: the operator is built with example.com/module v1.2.0, which has the fix: remove the statement",
		},
		"a module that the operator is built without is refused": {
			finding: finding{Module: "example.com/other", Status: "affected"}, fails: "built without example.com/other: remove",
		},
		"a version without v is refused": {
			finding: finding{Module: "stdlib", Fixed: "1.26.9", Status: "affected"}, fails: `"1.26.9" is no version such as v1.2.3`,
		},
		"no harm without a reason is refused": {finding: finding{Module: "stdlib", Status: "not_affected"}, fails: "the status must be"},
		"a reason that OpenVEX does not have is refused": {
			finding: finding{Module: "stdlib", Status: "not_affected", Justification: "unlikely"}, fails: "the status must be",
		},
		"harm with a reason for none is refused": {
			finding: finding{Module: "stdlib", Status: "affected", Justification: "component_not_present"}, fails: "the status must be",
		},
		"another status is refused": {finding: finding{Module: "stdlib", Status: "fixed"}, fails: "the status must be"},
	} {
		t.Run(name, func(t *testing.T) {
			row.finding.Vulnerability, row.finding.Aliases = "GO-1", []string{"CVE-1"}
			row.want.Vulnerability.Name, row.want.Vulnerability.Aliases = "GO-1", []string{"CVE-1"}
			row.want.Vulnerability.ID = "https://pkg.go.dev/vuln/GO-1"
			got, err := statements([]finding{row.finding}, built, []string{"image", "image-fips"})
			switch {
			case row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)):
				t.Errorf("want an error with %q, got %v", row.fails, err)
			case row.fails == "" && (err != nil || !reflect.DeepEqual(got, []vexStatement{row.want})):
				t.Errorf("want %+v, got %+v, %v", row.want, got, err)
			}
		})
	}
}

// of are both images, with a module.
func of(module string) []vexProduct {
	component := []vexProduct{{ID: "pkg:golang/" + module}}
	return []vexProduct{{ID: "image", Subcomponents: component}, {ID: "image-fips", Subcomponents: component}}
}

func TestAProductIsAnImageOfTheOperatorByItsDigest(t *testing.T) {
	tree := newTree(t, nil)
	for image, want := range map[string]string{
		"ghcr.io/kube8/kube8-operator:v1.2.3@sha256:ab":        "pkg:oci/kube8-operator@sha256%3Aab?repository_url=ghcr.io/kube8/kube8-operator",
		"ghcr.io/kube8/kube8-operator:v1.2.3-fips@sha256:cd":   "pkg:oci/kube8-operator@sha256%3Acd?repository_url=ghcr.io/kube8/kube8-operator",
		"ghcr.io/kube8/kube8-operator-bundle:v1.2.3@sha256:ef": "",
	} {
		if got, is := tree.product(image); is != (want != "") || is && got != want {
			t.Errorf("%s: got %s, %t, want %q", image, got, is, want)
		}
	}
}

func TestThereIsNoDocumentWithoutAStatement(t *testing.T) {
	files, err := newTree(t, map[string]string{vexFile: "# Nothing is known.\n"}).vex(nil, "linux/amd64")
	if err != nil || len(files) > 0 {
		t.Errorf("got %v, %v", files, err)
	}
}

func TestTheDocumentHasTheTimeOfTheCommit(t *testing.T) {
	program, err := os.ReadFile(os.Args[0]) // any binary of Go
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree(t, map[string]string{
		vexFile:                          "- {vulnerability: GO-1, module: sigs.k8s.io/yaml, status: not_affected, justification: component_not_present}",
		"bin/linux-amd64/kube8-operator": string(program),
	})
	files, err := tree.vex([]string{"ghcr.io/kube8/kube8-operator:v1.2.3@sha256:ab"}, "linux/amd64")
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	if err := checkVEX(files[0].body, tree.version, tree.time, 1); err != nil {
		t.Error(err)
	}
}

// The statements of this tree are about the versions in its go.mod, so that a version that mends something takes its statement away.
func TestTheStatementsAreAboutTheVersionsOfThisTree(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]string{"stdlib": "v" + strings.TrimPrefix(module.Toolchain.Name, "go")}
	for _, required := range module.Require {
		built[required.Mod.Path] = required.Mod.Version
	}
	text, err = os.ReadFile("../../" + vexFile)
	if err != nil {
		t.Fatal(err)
	}
	var findings []finding
	if err := yaml.UnmarshalStrict(text, &findings); err != nil {
		t.Fatal(err)
	}
	if _, err := statements(findings, built, nil); err != nil {
		t.Error(err)
	}
}

// checkVEX checks a document by what the schema of OpenVEX 0.2.0 requires.
func checkVEX(text []byte, version string, stamp time.Time, products int) error {
	var document vexDocument
	if err := yaml.UnmarshalStrict(text, &document); err != nil {
		return err
	}
	var problems []error
	require := func(holds bool, format string, values ...any) {
		if !holds {
			problems = append(problems, fmt.Errorf(format, values...))
		}
	}
	require(json.Valid(text), "it is no JSON")
	require(document.Context == "https://openvex.dev/ns/v0.2.0", "the context is %s", document.Context)
	require(document.ID == homepage+"/releases/download/v"+version+"/kube8-operator.openvex.json", "the ID is %s", document.ID)
	require(document.Author != "" && document.Version == 1, "the author is %q, and the version %d", document.Author, document.Version)
	require(document.Timestamp == stamp.UTC().Format(time.RFC3339), "the time is %s, not that of the commit, %s", document.Timestamp, stamp)
	require(len(document.Statements) > 0, "it has no statement")
	for _, s := range document.Statements {
		require(s.Vulnerability.Name != "", "a statement names no vulnerability")
		require((s.Status == "not_affected") == (s.Justification != ""), "%s: %s is justified by %q", s.Vulnerability.Name, s.Status, s.Justification)
		require((s.Status == "affected") == (s.ActionStatement != ""), "%s: %s has the action %q", s.Vulnerability.Name, s.Status, s.ActionStatement)
		require(len(s.Products) == products, "%s: it has the products %v", s.Vulnerability.Name, s.Products)
	}
	return errors.Join(problems...)
}
