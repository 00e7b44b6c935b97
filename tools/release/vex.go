package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

// homepage is where the project is.
const homepage = "https://github.com/kube8/kube8-operator"

// vexFile has what the maintainers say about known vulnerabilities.
const vexFile = "tools/release/vex.yaml"

// finding is what the maintainers say about one vulnerability of a module that the operator is built with.
type finding struct {
	Vulnerability string   `json:"vulnerability"` // its name in Go's vulnerability database
	Aliases       []string `json:"aliases"`
	Module        string   `json:"module"` // its path, or stdlib
	Fixed         string   `json:"fixed"`  // the first version without the vulnerability, such as v1.2.3, or empty if there is none
	Status        string   `json:"status"` // affected, or not_affected with a justification
	Justification string   `json:"justification"`
}

// vexDocument is an OpenVEX document, version 0.2.0, with the fields that we use.
type vexDocument struct {
	Context    string         `json:"@context"`
	ID         string         `json:"@id"`
	Author     string         `json:"author"`
	Timestamp  string         `json:"timestamp"`
	Version    int            `json:"version"`
	Statements []vexStatement `json:"statements"`
}

type vexStatement struct {
	Vulnerability struct {
		ID      string   `json:"@id"`
		Name    string   `json:"name"`
		Aliases []string `json:"aliases,omitempty"`
	} `json:"vulnerability"`
	Products        []vexProduct `json:"products"`
	Status          string       `json:"status"`
	Justification   string       `json:"justification,omitempty"`
	ActionStatement string       `json:"action_statement,omitempty"`
}

// vexProduct is an image or, below it, a module. The ID is a package URL.
type vexProduct struct {
	ID            string       `json:"@id"`
	Subcomponents []vexProduct `json:"subcomponents,omitempty"`
}

// vex returns the OpenVEX document about the operator's images, and no file if the maintainers have nothing to say: OpenVEX has no document
// without a statement. images are references with digests.
func (t *tree) vex(images []string, platform string) (files []file, err error) {
	text, err := os.ReadFile(t.path(vexFile))
	if err != nil {
		return nil, fmt.Errorf("read what is said about vulnerabilities: %w", err)
	}
	var findings []finding
	if err := yaml.UnmarshalStrict(text, &findings); err != nil {
		return nil, fmt.Errorf("%s: %w", vexFile, err)
	}
	if len(findings) == 0 {
		return nil, nil
	}
	info, err := buildinfo.ReadFile(t.path(binaryOf(platform, "")))
	if err != nil {
		return nil, fmt.Errorf("read the versions of modules: %w", err)
	}
	var products []string
	for _, image := range images {
		if product, is := t.product(image); is {
			products = append(products, product)
		}
	}
	statements, err := statements(findings, versions(info), products)
	if err != nil {
		return nil, err
	}
	const name = "kube8-operator.openvex.json"
	body, err := json.MarshalIndent(vexDocument{
		Context: "https://openvex.dev/ns/v0.2.0", ID: homepage + "/releases/download/v" + t.version + "/" + name,
		Author: homepage, Timestamp: t.time.Format(time.RFC3339), Version: 1, Statements: statements,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return []file{{name: name, body: append(body, '\n')}}, nil
}

// product returns the package URL of an image of the operator. Tools compare the URL with that of an image by its digest, so it has no tag.
func (t *tree) product(image string) (url string, isOperator bool) {
	reference, digest, _ := strings.Cut(image, "@")
	name := t.image[strings.LastIndex(t.image, "/")+1:]
	url = "pkg:oci/" + name + "@" + strings.ReplaceAll(digest, ":", "%3A") + "?repository_url=" + t.image
	return url, strings.HasPrefix(reference, t.image+":")
}

// versions returns the version of each module that a binary was built with, and that of Go's library as stdlib.
func versions(info *buildinfo.BuildInfo) map[string]string {
	found := map[string]string{"stdlib": "v" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range info.Deps {
		module = cmp.Or(module.Replace, module)
		found[module.Path] = module.Version
	}
	return found
}

// statements returns what OpenVEX says of findings in products that were built with some versions of modules. A finding that is not about
// one of these versions is an error, so that nothing outdated is published.
func statements(findings []finding, built map[string]string, products []string) (made []vexStatement, err error) {
	justifications := []string{
		"component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
		"vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist",
	}
	for _, f := range findings {
		version, isBuiltIn := built[f.Module]
		refuse := func(format string, values ...any) {
			err = errors.Join(err, fmt.Errorf(vexFile+": "+f.Vulnerability+": "+format, values...))
		}
		of := vexStatement{Status: f.Status, Justification: f.Justification}
		switch {
		case !isBuiltIn:
			refuse("the operator is built without %s: remove the statement", f.Module)
		case f.Fixed != "" && !semver.IsValid(f.Fixed):
			refuse("fixed: %q is no version such as v1.2.3", f.Fixed)
		case f.Fixed != "" && semver.Compare(version, f.Fixed) >= 0:
			refuse("the operator is built with %s %s, which has the fix: remove the statement", f.Module, version)
		case f.Status == "not_affected" && slices.Contains(justifications, f.Justification):
		case f.Status == "affected" && f.Justification == "" && f.Fixed != "":
			of.ActionStatement = fmt.Sprintf("Update to a release that is built with %s %s or newer.", f.Module, f.Fixed)
		case f.Status == "affected" && f.Justification == "":
			of.ActionStatement = f.Module + " has no fix yet: watch for a release that has one."
		default:
			refuse("the status must be affected, or not_affected with one of the justifications %s", strings.Join(justifications, ", "))
		}
		of.Vulnerability.ID, of.Vulnerability.Name = "https://pkg.go.dev/vuln/"+f.Vulnerability, f.Vulnerability
		of.Vulnerability.Aliases = f.Aliases
		component := vexProduct{ID: "pkg:golang/" + f.Module + "@" + version}
		for _, product := range products {
			of.Products = append(of.Products, vexProduct{ID: product, Subcomponents: []vexProduct{component}})
		}
		made = append(made, of)
	}
	return made, err
}
