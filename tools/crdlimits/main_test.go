package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEachListAndMapOfASchemaHasALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crd.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
properties:
  items: {type: string}
  list: {items: {additionalProperties: {type: string}, type: object}, type: array}
  few: {items: {type: string}, maxItems: 2, type: array}
`)
	if err := run([]string{file}); err != nil {
		t.Fatal(err)
	}
	const want = `---
properties:
  few:
    items:
      type: string
    maxItems: 2
    type: array
  items:
    type: string
  list:
    items:
      additionalProperties:
        type: string
      maxProperties: 256
      type: object
    maxItems: 256
    type: array
`
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s\nwant %s\nerror %v", got, want, err)
	}
	write("a: [")
	for _, args := range [][]string{nil, {file}, {file + "-missing"}} {
		if err := run(args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
