package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const crdFile = "../../config/crd/bases/kube8.dev_collectors.yaml"

func crdWithSpec(spec string) []byte {
	return []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  versions:
  - schema:
      openAPIV3Schema:
        properties:
          spec: ` + spec + "\n")
}

func TestGenerate(t *testing.T) {
	const long = `{type: object, properties: {first: {type: string, maxLength: 63}, second: {type: string, maxLength: 63}}}`
	for _, tt := range []struct {
		name string
		spec string
		want string
	}{{
		name: "a listed property is kept, its description is not, and no other property is allowed",
		spec: `{type: object, required: [size], properties: {size: {type: integer, format: int32, minimum: 1, description: In bytes.}}}`,
		want: `"type":"object","required":["size"],"additionalProperties":false,
"properties":{
"enabled":{"type":"boolean"},
"global":{"type":"object"},
"size":{"type":"integer","minimum":1}
},
"definitions":{
}
`,
	}, {
		name: "a map keeps the schema of its values",
		spec: `{type: object, properties: {labels: {type: object, additionalProperties: {type: string, description: One label.}}}}`,
		want: `"type":"object","additionalProperties":false,
"properties":{
"enabled":{"type":"boolean"},
"global":{"type":"object"},
"labels":{"type":"object","additionalProperties":{"type":"string"}}
},
"definitions":{
}
`,
	}, {
		name: "a number that may be a percentage is both, and what only Kubernetes understands is dropped",
		spec: `{type: object, properties: {max: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: self != 0}]}}}`,
		want: `"type":"object","additionalProperties":false,
"properties":{
"enabled":{"type":"boolean"},
"global":{"type":"object"},
"max":{"anyOf":[{"type":"integer"},{"type":"string"}]}
},
"definitions":{
}
`,
	}, {
		name: "an object whose unknown fields are preserved stays open",
		spec: `{type: object, properties: {any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}}}`,
		want: `"type":"object","additionalProperties":false,
"properties":{
"any":{"type":"object","properties":{"a":{"type":"string"}}},
"enabled":{"type":"boolean"},
"global":{"type":"object"}
},
"definitions":{
}
`,
	}, {
		name: "a nullable field is any other: Helm removes it, if it is null",
		spec: `{type: object, properties: {a: {type: string, nullable: true}}}`,
		want: `"type":"object","additionalProperties":false,
"properties":{
"a":{"type":"string"},
"enabled":{"type":"boolean"},
"global":{"type":"object"}
},
"definitions":{
}
`,
	}, {
		name: "a large part that occurs again is written once",
		spec: `{type: object, properties: {a: ` + long + `, b: {type: array, items: ` + long + `}}}`,
		want: `"type":"object","additionalProperties":false,
"properties":{
"a":{"$ref":"#/definitions/d0"},
"b":{"type":"array","items":{"$ref":"#/definitions/d0"}},
"enabled":{"type":"boolean"},
"global":{"type":"object"}
},
"definitions":{
"d0":{"type":"object","properties":{"first":{"type":"string","maxLength":63},"second":{"type":"string","maxLength":63}},"additionalProperties":false}
}
`,
	}} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Generate(crdWithSpec(tt.spec))
			if err != nil {
				t.Fatal(err)
			}
			want := "{\n\"$schema\":\"http://json-schema.org/draft-07/schema#\"," + tt.want + "}\n"
			if string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		crd  []byte
		want string
	}{
		{"what is not a CRD", []byte("kind: ["), "not a CustomResourceDefinition"},
		{"a CRD without a schema", []byte("spec: {versions: [{name: v1}]}"), "has no schema"},
		{"a spec without properties", crdWithSpec(`{type: object}`), "has no spec, or one without properties"},
		{"an exclusive limit, naming it", crdWithSpec(`{type: object, properties: {a: {type: object, properties: {b: {type: integer, exclusiveMinimum: true}}}}}`), "spec.a.b: exclusive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Generate(tt.crd); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestCollectorSchema(t *testing.T) {
	crd, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Generate(crd)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := Generate(crd); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("the same CRD gave another schema (error %v)", err)
		}
	}
	schema := compile(t, text)

	const minimal = `{collector: {name: otelcol, version: 0.150.0, configuration: e30=}, tenant: {id: "1", reference: acme}, cluster: east`
	for _, tt := range []struct {
		name   string
		values string
		want   string
	}{
		{"the least that a Collector needs", minimal + "}", ""},
		{"Helm's own key", minimal + ", global: {a: b}}", ""},
		{"what the condition of a chart that has this one reads", minimal + ", enabled: true}", ""},
		{"a condition that is no boolean", minimal + `, enabled: "yes"}`, "/enabled"},
		{"a percentage and a number", minimal + `, podDisruptionBudget: {minAvailable: 50%, maxUnavailable: 1}}`, ""},
		{"quantities", minimal + `, resources: {limits: {memory: 512Mi, cpu: 2}}}`, ""},
		{"no tenant", `{collector: {name: otelcol, version: "1"}, cluster: east}`, "'tenant'"},
		{"a typo deep inside", minimal + `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, namespace: b}]}}}`, "'namespace' not allowed"},
		{"an unknown mode", minimal + `, mode: job}`, "/mode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var values any
			if err := yaml.Unmarshal([]byte(tt.values), &values); err != nil {
				t.Fatal(err)
			}
			err := schema.Validate(values)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestCRDCanBeApplied: server-side, as everything here applies it. Client-side kubectl apply would keep a copy of the CRD in an
// annotation, and the API server refuses more than 256 KiB of those. etcd takes 1.5 MiB, and OLM unpacks a bundle into a
// ConfigMap of 1 MiB. Set maxDescLen in the Makefile's controller-gen call when this fails.
func TestCRDCanBeApplied(t *testing.T) {
	in, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	var crd any
	if err := yaml.Unmarshal(in, &crd); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	const limit, reserve = 1 << 20, 256 << 10
	if len(out) > limit-reserve {
		t.Errorf("the CRD has %d bytes as JSON; it shall stay below %d", len(out), limit-reserve)
	}
	t.Logf("the CRD has %d bytes as JSON, of at most %d", len(out), limit-reserve)
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
