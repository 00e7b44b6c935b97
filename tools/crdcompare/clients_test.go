package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// widgets is a CRD with one of everything that clients use of a CRD.
const widgets = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wi], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Ready, type: string, jsonPath: .status.ready, description: whether it serves}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields: [{jsonPath: .spec.team}]
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [team]
            properties:
              team: {type: string, enum: [a, b], default: a, maxLength: 9}
              replicas: {type: integer, minimum: 0, maximum: 9}
              note: {type: string, nullable: true, pattern: "^n"}
              port: {x-kubernetes-int-or-string: true}
              labels: {type: object, maxProperties: 9, additionalProperties: {type: string, maxLength: 9}}
              parts: {type: array, maxItems: 9, x-kubernetes-list-type: atomic, items: {type: object, properties: {name: {type: string}}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
            x-kubernetes-validations:
            - {rule: "self.team == oldSelf.team", message: stays}
          status: {type: object, properties: {ready: {type: string}}}
`

// A status field that became required (grafana/grafana-operator#1621, quay/quay-operator#541), and an enum without a value that objects have
// (zalando/postgres-operator#1497), were reported of other operators. OLM v1 looks for more (operator-framework/operator-controller#746).
// Manifests, commands and autoscalers use names, columns and subresources, which are beside the schema.
func TestWhatClientsUseOfACRDDoesNotGoWithoutAWord(t *testing.T) {
	for name, row := range map[string]struct{ old, new, want string }{
		"a field of the status that must be":     {"status: {type: object,", "status: {type: object, required: [ready],", "^.status: required: "},
		"another field that must be":             {"required: [team]", "required: [team, note]", "^.spec: required: "},
		"an enum without one of its values":      {"enum: [a, b]", "enum: [a]", "^.spec.team: enum: "},
		"an enum that was none":                  {`pattern: "^n"`, `pattern: "^n", enum: ["n"]`, "^.spec.note: enum: "},
		"another default":                        {"default: a", "default: b", "^.spec.team: default: "},
		"no default":                             {"default: a, ", "", "^.spec.team: default: "},
		"a shorter text":                         {"default: a, maxLength: 9", "default: a, maxLength: 8", "^.spec.team: maxLength: "},
		"fewer items":                            {"maxItems: 9", "maxItems: 8", "^.spec.parts: maxItems: "},
		"fewer keys":                             {"maxProperties: 9", "maxProperties: 8", "^.spec.labels: maxProperties: "},
		"a higher minimum":                       {"minimum: 0", "minimum: 1", "^.spec.replicas: minimum: "},
		"a lower maximum":                        {"maximum: 9", "maximum: 8", "^.spec.replicas: maximum: "},
		"at least one item":                      {"maxItems: 9", "maxItems: 9, minItems: 1", "^.spec.parts: minItems: "},
		"another pattern":                        {`"^n"`, `"^no"`, "^.spec.note: pattern: "},
		"a number that must be whole":            {"type: integer", "type: number", "^.spec.replicas: type: "},
		"no null any more":                       {"nullable: true, ", "", "^.spec.note: nullable: "},
		"a list that is a map":                   {"x-kubernetes-list-type: atomic", "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]", "^.spec.parts: unhandled: "},
		"a list that is a set":                   {"x-kubernetes-list-type: atomic", "x-kubernetes-list-type: set", "^.spec.parts: unhandled: "},
		"unknown fields that are dropped":        {"free: {type: object, x-kubernetes-preserve-unknown-fields: true}", "free: {type: object}", "^.spec.free: unhandled: "},
		"no texts as ports":                      {"port: {x-kubernetes-int-or-string: true}", "port: {type: integer}", "^.spec.port: "},
		"no further keys":                        {", additionalProperties: {type: string, maxLength: 9}", "", "^.spec.labels: unhandled: "},
		"shorter values of keys":                 {"{type: string, maxLength: 9}}", "{type: string, maxLength: 8}}", "^.spec.labels.additionalProperties: maxLength: "},
		"items with one more limit":              {"{name: {type: string}}", "{name: {type: string, maxLength: 9}}", "^.spec.parts.items.name: maxLength: "},
		"a rule in other words":                  {"self.team == oldSelf.team", "oldSelf.team == self.team", "^.spec: rule: "},
		"another scope":                          {"scope: Namespaced", "scope: Cluster", "scope"},
		"another kind":                           {"kind: Widget,", "kind: Gadget,", ".names.kind: Widget"},
		"no short name":                          {", shortNames: [wi]", "", ".names.shortNames: wi"},
		"another short name":                     {"[wi]", "[wg]", ".names.shortNames: wi"},
		"another singular name":                  {"singular: widget", "singular: gadget", ".names.singular: widget"},
		"no category":                            {", categories: [all]", "", ".names.categories: all"},
		"a version that is not served":           {"served: true", "served: false", ".versions.v1.served: true"},
		"a column less":                          {"    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}\n", "", ".additionalPrinterColumns.Age.jsonPath: .metadata.creationTimestamp"},
		"a column of another field":              {".status.ready,", ".status.ok,", ".additionalPrinterColumns.Ready.jsonPath: .status.ready"},
		"a column with another name":             {"name: Ready", "name: Serves", ".additionalPrinterColumns.Ready.jsonPath: .status.ready"},
		"no selectable field":                    {"    selectableFields: [{jsonPath: .spec.team}]\n", "", ".selectableFields.jsonPath: .spec.team"},
		"no status":                              {"status: {}, ", "", ".subresources.status"},
		"no scale":                               {", scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}", "", ".subresources.scale"},
		"another path of scale":                  {"statusReplicasPath: .status.replicas", "statusReplicasPath: .status.pods", "statusReplicasPath: .status.replicas"},
		"another conversion, which adds nothing": {"scope: Namespaced\n", "scope: Namespaced\n  conversion: {strategy: None}\n", ""},
		"columns in another order, and one more": {
			"    - {name: Ready,", "    - {name: Pods, type: integer, jsonPath: .status.replicas}\n    - {name: Ready,", "",
		},
		"a column with another description": {"description: whether it serves", "description: ready", ""},
		"a map whose values have another description": {
			"additionalProperties: {type: string", "additionalProperties: {description: what it is, type: string", "",
		},
		"a short name more":        {"[wi]", "[w, wi]", ""},
		"a longer text":            {"default: a, maxLength: 9", "default: a, maxLength: 10", ""},
		"a field that need not be": {"            required: [team]\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(widgets, row.old) != 1 {
				t.Fatalf("%q is there %d times", row.old, strings.Count(widgets, row.old))
			}
			dir := t.TempDir()
			var paths []string
			for file, text := range map[string]string{
				"a.yaml": widgets, "b.yaml": strings.Replace(widgets, row.old, row.new, 1), "c.yaml": "[]", "d.md": "",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"a.yaml", "b.yaml", "c.yaml", "d.md"} {
				paths = append(paths, filepath.Join(dir, file))
			}
			err := run(paths)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}
