package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// crd returns a CRD whose spec has a schema.
func crd(version, schema string) string {
	return fmt.Sprintf(`{metadata: {name: a.b}, spec: {group: b, scope: Namespaced, names: {plural: a, kind: A}, versions: [
		{name: %s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}}]}}`, version, schema)
}

func TestTheCRDDoesNotNarrowWithoutAWord(t *testing.T) {
	const (
		released  = `{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a != "b", message: not b}]}`
		withLimit = `{type: object, properties: {a: {type: string, maxLength: 3}}, x-kubernetes-validations: [{rule: self.a != "b", message: not b}]}`
		limit     = `property: ^.spec.a, says: "maxLength: maximum constraint added when there was none previously : 3"`
		stricter  = `reason: Longer ones never worked., stored: {a: four}, refused: too long`
	)
	for name, row := range map[string]struct{ version, schema, accepted, changelog, want string }{
		"the same":             {schema: released},
		"another description":  {schema: strings.Replace(released, "type: string", "type: string, description: A letter.", 1)},
		"one more field":       {schema: strings.Replace(released, "{a:", "{c: {type: string}, a:", 1)},
		"one rule less":        {schema: `{type: object, properties: {a: {type: string}}}`},
		"a field that is gone": {schema: `{type: object}`, want: "removed field : v1"},
		"a field that must be": {schema: `{type: object, required: [a], properties: {a: {type: string}}}`, want: "required"},
		"another type":         {schema: strings.Replace(released, "string", "integer", 1), want: "^.spec.a: type: "},
		"another pattern":      {schema: strings.Replace(released, "type: string", "type: string, pattern: a+", 1), want: "^.spec.a: pattern: "},
		"a format, which is no check of crdify": {
			schema: strings.Replace(released, "type: string", "type: string, format: date", 1), want: "^.spec.a: unhandled: ",
		},
		"a rule with the message of another one": {
			schema: strings.Replace(released, `[{`, `[{rule: self.a != "c", message: not b}, {`, 1), want: ": not b; take it back",
		},
		"a version that is gone": {version: "v2", schema: released, want: "v1"},
		"a limit":                {schema: withLimit, want: "^.spec.a: maxLength: maximum constraint added"},
		"a limit that is harmless": {
			schema: withLimit, accepted: limit + ", harmless: The pattern allows no more.",
		},
		"a limit that the changelog tells users": {
			schema: withLimit, accepted: limit + ", changelog: a has a limit of 3, " + stricter, changelog: "- The field a has\n  a limit of 3.",
		},
		"a limit that the changelog does not tell": {
			schema: withLimit, accepted: limit + ", changelog: a has a limit of 3, " + stricter, want: "the changelog does not say so",
		},
		"a limit without a part of the changelog": {schema: withLimit, accepted: limit + ", " + stricter, want: "the changelog does not say so"},
		"a limit without an object that a test stores": {
			schema: withLimit, accepted: limit + ", reason: Longer ones never worked., refused: too long", want: "set reason, changelog, stored and refused",
		},
		"a limit that is not there any more": {schema: released, accepted: limit + ", harmless: The pattern allows no more.", want: "remove it from accepted.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.version == "" {
				row.version = "v1"
			}
			dir := t.TempDir()
			var paths []string
			for file, text := range []string{crd("v1", released), crd(row.version, row.schema), "[{" + row.accepted + "}]", row.changelog} {
				path := filepath.Join(dir, strconv.Itoa(file))
				if text == "[{}]" {
					text = "[]"
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
			err := run(paths)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}
