package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableHasEachValue(t *testing.T) {
	const schemaOf = `{"properties": {"image": {"properties": {"tag": {"description": "The tag."}}}, "replicas": {"description": "How many."}}}`
	for name, row := range map[string]struct{ schema, values, want, fails string }{
		"values and values below them": {
			schema: schemaOf, values: "{image: {tag: dev}, replicas: 1}", want: "| `image.tag` | `\"dev\"` | The tag. |\n| `replicas` | `1` | How many. |\n",
		},
		"no values that are for Helm": {
			schema: `{"properties": {"enabled": {"type": "boolean"}, "global": {"type": "object"}}}`, values: "{}",
		},
		"a part that can be turned on, without a default": {
			schema: `{"properties": {"alerts": {"properties": {"enabled": {"description": "Whether."}}}}}`, values: "alerts: {}",
			fails: "alerts.enabled needs a default",
		},
		"a value without a default": {schema: schemaOf, values: "image: {tag: dev}", fails: "replicas needs a default"},
		"a default that the schema does not have": {
			schema: schemaOf, values: "{image: {tag: dev, digest: a}, replicas: 1}", fails: "image.digest is in values.yaml, and not in values.schema.json",
		},
		"a value without a description": {schema: `{"properties": {"a": {}}}`, values: "a: 1", fails: "a needs a default"},
	} {
		t.Run(name, func(t *testing.T) {
			chart := t.TempDir()
			for file, text := range map[string]string{
				"values.schema.json": row.schema, "values.yaml": row.values, "README.md": "# Chart\n\n" + begin + "old\n" + end + "\nAfter.\n",
			} {
				if err := os.WriteFile(filepath.Join(chart, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := run(chart)
			if row.fails != "" {
				if err == nil || !strings.Contains(err.Error(), row.fails) {
					t.Fatalf("got error %v, want one that says %q", err, row.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			page, err := os.ReadFile(filepath.Join(chart, "README.md"))
			want := "# Chart\n\n" + begin + "\n| Value | Default | What for |\n| --- | --- | --- |\n" + row.want + "\n" + end + "\nAfter.\n"
			if err != nil || string(page) != want {
				t.Errorf("got %s, %v, want %s", page, err, want)
			}
		})
	}
}
