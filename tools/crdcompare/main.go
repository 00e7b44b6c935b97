// Command crdcompare compares a CRD with that of the last release, with crdify. It fails if a field, name, column or subresource is gone,
// or if a schema is stricter. A list of accepted differences says why one is accepted, and the changelog tells users.
//
// Usage: crdcompare RELEASED.yaml CRD.yaml ACCEPTED.yaml CHANGELOG.md
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/yaml"
)

// accepted is a difference that is no mistake.
type accepted struct {
	// Property and Says are where the difference is and what it is, as crdcompare prints it.
	Property string `json:"property"`
	Says     string `json:"says"`

	// Harmless says why the CRD refuses no object that the release took.
	Harmless string `json:"harmless"`

	// Reason says why it has to refuse one, and Changelog is a part of the changelog that tells users.
	Reason    string `json:"reason"`
	Changelog string `json:"changelog"`

	// Stored are fields of a spec that the release took, and Refused is the refusal. An integration test has an API server store such an
	// object. Unrelated says whether another field of that object can be changed.
	Stored    map[string]any `json:"stored"`
	Refused   string         `json:"refused"`
	Unrelated bool           `json:"unrelated"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "crdcompare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: crdcompare RELEASED.yaml CRD.yaml ACCEPTED.yaml CHANGELOG.md")
	}
	var released, crd apiextensionsv1.CustomResourceDefinition
	var known []accepted
	if err := errors.Join(read(args[0], &released), read(args[1], &crd), read(args[2], &known)); err != nil {
		return err
	}
	changelog, err := os.ReadFile(args[3])
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	found, err := differences(&released, &crd)
	if err != nil {
		return err
	}
	return judge(found, known, string(changelog))
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	return nil
}

// differences returns what crdify finds, and what is gone beside the schemas, with Property and Says only.
func differences(released, crd *apiextensionsv1.CustomResourceDefinition) ([]accepted, error) {
	released.Status.StoredVersions = nil
	for _, version := range released.Spec.Versions {
		released.Status.StoredVersions = append(released.Status.StoredVersions, version.Name) // none of them may go
	}
	for _, one := range []*apiextensionsv1.CustomResourceDefinition{released, crd} {
		for _, version := range one.Spec.Versions {
			if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
				removeDescriptions(version.Schema.OpenAPIV3Schema)
			}
		}
	}
	settings := &config.Config{}
	if err := config.ValidateConfig(settings); err != nil {
		return nil, fmt.Errorf("configure crdify: %w", err)
	}
	compare, err := runner.New(settings, registry)
	if err != nil {
		return nil, fmt.Errorf("configure crdify: %w", err)
	}
	results, found := compare.Run(released, crd), []accepted(nil)
	add := func(property string, result validations.ComparisonResult) {
		for _, said := range result.Errors {
			found = append(found, accepted{Property: property, Says: result.Name + ": " + strings.TrimSpace(said)})
		}
	}
	for _, result := range results.CRDValidation {
		add("", result)
	}
	for _, version := range slices.Concat(results.SameVersionValidation, results.ServedVersionValidation) {
		for _, property := range version.PropertyComparisons {
			for _, result := range property.ComparisonResults {
				add(property.Property, result)
			}
		}
	}
	before, after := used{}, used{}
	if err := errors.Join(before.addAll(released), after.addAll(crd)); err != nil {
		return nil, err
	}
	for fact := range before {
		if !after[fact] {
			found = append(found, accepted{Says: "gone: " + fact})
		}
	}
	slices.SortFunc(found, func(a, b accepted) int { return strings.Compare(a.Property+a.Says, b.Property+b.Says) })
	return found, nil
}

// removeDescriptions removes them all: crdify has a check of each field's, but takes those in the values of a map for another schema.
func removeDescriptions(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Description = ""
	for name, field := range schema.Properties {
		removeDescriptions(&field)
		schema.Properties[name] = field
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		removeDescriptions(values.Schema)
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		removeDescriptions(items.Schema)
	}
}

// used is what clients use of a CRD beside its schemas, by path: names, versions, columns, selectable fields and subresources.
type used map[string]bool

func (u used) addAll(crd *apiextensionsv1.CustomResourceDefinition) error {
	text, err := json.Marshal(map[string]any{"names": crd.Spec.Names, "versions": crd.Spec.Versions})
	if err != nil {
		return fmt.Errorf("read what clients use of the CRD: %w", err)
	}
	var spec any
	if err := json.Unmarshal(text, &spec); err != nil {
		return fmt.Errorf("read what clients use of the CRD: %w", err)
	}
	u.add("", spec)
	return nil
}

// add adds what is below a value. The path of an item has its name, not its place: another order breaks no client.
func (u used) add(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if name, hasName := value["name"].(string); hasName {
			path += "." + name
		}
		u[path] = true // a subresource can be empty
		for key, below := range value {
			if !slices.Contains([]string{"schema", "description", "priority"}, key) {
				u.add(path+"."+key, below)
			}
		}
	case []any:
		for _, item := range value {
			u.add(path, item)
		}
	default:
		u[fmt.Sprintf("%s: %v", path, value)] = true
	}
}

// judge returns an error that names each difference that is not accepted, and each accepted one that has a part missing or is not there.
func judge(found, known []accepted, changelog string) error {
	isSame := func(a accepted) func(accepted) bool {
		return func(b accepted) bool { return a.Property == b.Property && a.Says == b.Says }
	}
	var wrong []error
	for _, one := range found {
		if !slices.ContainsFunc(known, isSame(one)) {
			wrong = append(wrong, fmt.Errorf("%s: %s; take it back, or add it to accepted.yaml", one.Property, one.Says))
		}
	}
	for _, one := range known {
		missing := ""
		switch isStricter := one.Harmless == ""; {
		case !slices.ContainsFunc(found, isSame(one)):
			missing = "the CRD has no such difference from the last release; remove it from accepted.yaml"
		case isStricter && (one.Reason == "" || one.Refused == "" || len(one.Stored) == 0):
			missing = "say in accepted.yaml why it is harmless, or set reason, changelog, stored and refused"
		case isStricter && !strings.Contains(plain(changelog), plain(one.Changelog)), isStricter && one.Changelog == "":
			missing = "the changelog does not say so; set changelog in accepted.yaml to a part of it"
		}
		if missing != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s: %s", one.Property, one.Says, missing))
		}
	}
	return errors.Join(wrong...)
}

// plain returns a text without its line breaks.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// registry has the validations of crdify, and rules.
var registry = func() validations.Registry {
	all := runner.DefaultRegistry()
	all.Register("rule", func(map[string]any) (validations.Validation, error) { return &rules{}, nil })
	return all
}()

// rules is a validation of crdify that finds rules of CEL. It cannot tell whether a new one is stricter, so each counts.
type rules struct{ enforcement config.EnforcementPolicy }

func (r *rules) Name() string { return "rule" }

func (r *rules) SetEnforcement(policy config.EnforcementPolicy) { r.enforcement = policy }

// Compare finds rules that are in b only, and takes all of them out: what is left is compared by others.
func (r *rules) Compare(a, b *apiextensionsv1.JSONSchemaProps) validations.ComparisonResult {
	var added []error
	for _, rule := range b.XValidations {
		isIt := func(known apiextensionsv1.ValidationRule) bool { return known.Rule == rule.Rule }
		if !slices.ContainsFunc(a.XValidations, isIt) {
			// The hash tells another rule with the same message.
			added = append(added, fmt.Errorf("%.8x: %s", sha256.Sum256([]byte(rule.Rule)), rule.Message))
		}
	}
	a.XValidations, b.XValidations = nil, nil
	return validations.HandleErrors(r.Name(), r.enforcement, added...)
}
