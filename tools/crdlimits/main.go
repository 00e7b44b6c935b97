// Command crdlimits limits the lists, maps and 32-bit numbers in the schema of a generated CRD that have no limit of their own. Types of
// Kubernetes have none, and no marker can give them one. The API server does not look at the format of a number, and whoever reads a
// larger one into these types fails. It also limits the digits and exponents of quantities.
//
// Usage: crdlimits FILE
package main

import (
	"errors"
	"fmt"
	"math"
	"os"

	"sigs.k8s.io/yaml"
)

const (
	// most is how many entries such a list or map may have.
	most = 256

	// amount is what a quantity looks like: 32 digits and two of an exponent. The pattern of Kubernetes allows any number, and whoever
	// compares 1e100000000 with something takes a minute for it.
	amount = `^[+-]?([0-9]{1,32}(\.[0-9]{0,32})?|\.[0-9]{1,32})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "crdlimits:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: crdlimits FILE")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("parse %s: %w", args[0], err)
	}
	limit(crd)
	limited, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("write %s: %w", args[0], err)
	}
	return os.WriteFile(args[0], append([]byte("---\n"), limited...), 0o644) //nolint:wrapcheck // it names the file
}

// limit limits each schema below a node of the CRD.
func limit(node any) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			limit(child)
		}
	case map[string]any:
		name := "" // of the limit; a field of the Collector can be named items, and none of its schema's types is text then
		switch _, isMap := node["additionalProperties"].(map[string]any); {
		case node["type"] == "array":
			name = "maxItems"
		case node["type"] == "object" && isMap:
			name = "maxProperties"
		}
		if name != "" {
			setDefault(node, name, most)
		}
		if node["type"] == "integer" && node["format"] == "int32" {
			setDefault(node, "minimum", math.MinInt32)
			setDefault(node, "maximum", math.MaxInt32)
		}
		if _, has := node["pattern"]; has && node["x-kubernetes-int-or-string"] == true {
			node["pattern"] = amount
		}
		for _, child := range node {
			limit(child)
		}
	}
}

func setDefault(node map[string]any, name string, number int) {
	if _, has := node[name]; !has {
		node[name] = number
	}
}
