package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEachListMapAndNumberOfASchemaHasALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crd.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
properties:
  ipBlock: {properties: {cidr: {type: string}}, type: object}
  items: {type: string}
  list: {items: {additionalProperties: {type: string}, type: object}, type: array}
  few: {items: {type: string}, maxItems: 2, type: array}
  many: {items: {type: string}, type: array}
  mounts: {items: {properties: {bindMountOptions: {items: {type: string}, type: array}}, type: object}, type: array}
  deep: {items: {properties: {a: {items: {properties: {b: {items: {properties: {c: {type: string}}, type: object}, type: array},
    d: {items: {type: string}, type: array}}, type: object}, type: array}}, type: object}, type: array}
  pods: {format: int32, minimum: 0, type: integer}
  seconds: {format: int64, type: integer}
  storage: {anyOf: [{type: integer}, {type: string}], pattern: .*, x-kubernetes-int-or-string: true}
`)
	if err := run([]string{file}); err != nil {
		t.Fatal(err)
	}
	const want = `---
properties:
  deep:
    items:
      properties:
        a:
          items:
            properties:
              b:
                items:
                  properties:
                    c:
                      type: string
                  type: object
                maxItems: 16
                type: array
              d:
                items:
                  type: string
                maxItems: 64
                type: array
            type: object
          maxItems: 16
          type: array
      type: object
    maxItems: 64
    type: array
  few:
    items:
      type: string
    maxItems: 2
    type: array
  ipBlock:
    properties:
      cidr:
        maxLength: 43
        type: string
    type: object
  items:
    type: string
  list:
    items:
      additionalProperties:
        type: string
      maxProperties: 64
      type: object
    maxItems: 64
    type: array
  many:
    items:
      type: string
    maxItems: 256
    type: array
  mounts:
    items:
      properties:
        bindMountOptions:
          items:
            type: string
          maxItems: 3
          type: array
      type: object
    maxItems: 256
    type: array
  pods:
    format: int32
    maximum: 2147483647
    minimum: 0
    type: integer
  seconds:
    format: int64
    type: integer
  storage:
    anyOf:
    - type: integer
    - type: string
    pattern: ` + amount + `
    x-kubernetes-int-or-string: true
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
