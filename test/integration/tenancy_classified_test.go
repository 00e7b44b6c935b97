package integration

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// claimWith is what a spec has with a claim that has these fields too, in a list of the spec.
func claimWith(list, fields string) string {
	return `mode: statefulset, ` + list + `: [{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}, ` + fields + `}}]`
}

// specSchema is the schema of a Collector's spec.
func specSchema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := os.ReadFile("config/crd/bases/kube8.dev_collectors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// leavesOf returns the paths of all fields in a schema that have no fields.
func leavesOf(schema apiextensionsv1.JSONSchemaProps, path string) (leaves []string) {
	switch {
	case schema.Items != nil:
		return leavesOf(*schema.Items.Schema, path+"[]")
	case schema.AdditionalProperties != nil:
		return leavesOf(*schema.AdditionalProperties.Schema, path+".*")
	case len(schema.Properties) == 0:
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		leaves = append(leaves, leavesOf(schema.Properties[name], strings.TrimPrefix(path+"."+name, "."))...)
	}
	return leaves
}

// inContainers are patterns with those of % for each list of containers.
func inContainers(patterns string) (all []string) {
	for pattern := range strings.FieldsSeq(patterns) {
		for _, prefix := range []string{"", "initContainers[].", "extraContainers[]."} {
			all = append(all, strings.Replace(pattern, "%", prefix, 1))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// typesOfVolumes are those that the limit volumes refuses in the tests.
func typesOfVolumes(t *testing.T) (types []string) {
	t.Helper()
	schema := specSchema(t).Properties["extraVolumes"].Items.Schema
	allowed := strings.Fields(clusterLimits["volumes"] + " name")
	return slices.DeleteFunc(slices.Sorted(maps.Keys(schema.Properties)), func(name string) bool { return slices.Contains(allowed, name) })
}

func TestEachFieldOfTheCRDIsClassified(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	add := func(patterns string) {
		for _, pattern := range inContainers(patterns) {
			unused[pattern] = true
		}
	}
	for _, fields := range harmless {
		add(fields)
	}
	for _, row := range classified {
		add(row.fields)
	}
	for _, name := range typesOfVolumes(t) {
		add("extraVolumes[]." + name + ".**")
	}
	patterns := slices.Collect(maps.Keys(unused))
	leaves := leavesOf(specSchema(t), "")
	for _, leaf := range leaves {
		isMatched := false
		for _, pattern := range patterns {
			if before, isTree := strings.CutSuffix(pattern, "**"); pattern == leaf || isTree && strings.HasPrefix(leaf, before) {
				delete(unused, pattern)
				isMatched = true
			}
		}
		if !isMatched {
			t.Errorf("spec.%s is not classified: add it to harmless, or to classified with a limit of config/tenancy that holds it", leaf)
		}
	}
	for pattern := range unused {
		t.Errorf("the CRD has no field spec.%s", pattern)
	}
	recordFigure(t, "Fields of the CRD that are classified", len(leaves))
}

// tryFields tries a value of each field that reaches beyond its namespace. It needs clusterLimits in force.
func (p *tenancyPlane) tryFields(t *testing.T) {
	t.Helper()
	refused := 0
	try := func(fields, limit, patch string) {
		t.Run(fields, func(t *testing.T) {
			err, want := p.try(t, "acme", within(t, patch)), "; the limit "+limit+" is "
			if limit == "" {
				want = tenantPolicy
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want a refusal by the limit %s", patch, err, limit)
			}
			refused++
		})
	}
	for _, row := range classified {
		try(row.fields, row.limit, `{spec: {`+row.value+`}}`)
		if strings.HasPrefix(row.fields, "%") {
			try(row.fields+" of an init container", row.limit, further("initContainers", row.value))
			try(row.fields+" of another container", row.limit, further("extraContainers", row.value))
		}
	}
	volumes := specSchema(t).Properties["extraVolumes"].Items.Schema
	for _, name := range typesOfVolumes(t) {
		volume, err := json.Marshal(map[string]any{"name": "a", name: leastOf(volumes.Properties[name])})
		if err != nil {
			t.Fatal(err)
		}
		try("a volume of type "+name, "volumes", `{spec: {extraVolumes: [`+string(volume)+`]}}`)
	}
	recordFigure(t, "Values of them that were tried and refused with all limits set", refused)
}

// leastOf returns a value with what a schema requires.
func leastOf(schema apiextensionsv1.JSONSchemaProps) any {
	if len(schema.Enum) > 0 {
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	}
	if schema.XIntOrString {
		return int64(1)
	}
	switch schema.Type {
	case "object":
		value := map[string]any{}
		for _, name := range schema.Required {
			value[name] = leastOf(schema.Properties[name])
		}
		return value
	case "array":
		return []any{leastOf(*schema.Items.Schema)}
	case "integer":
		return int64(1)
	case "boolean":
		return true
	}
	return "a"
}
