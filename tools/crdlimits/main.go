// Command crdlimits limits the lists, maps and 32-bit numbers in the schema of a generated CRD that have no limit of their own. Types of
// Kubernetes have none, and no marker can give them one. The API server does not look at the format of a number, and a reader of a
// larger one into these types fails. It also limits the digits and exponents of quantities, and the length of blocks of addresses.
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
	// most is how many entries such a list or map may have. A list in another one, or with lists of its own, may have fewer. A list in
	// another one that also has lists may have fewest, because the numbers multiply.
	most, fewer, fewest = 256, 64, 16

	// peers is the list of a NetworkPolicy's rule that may have as many as fewer: vendors publish dozens of blocks of addresses.
	peers = "to"

	// options is the list of a mount that has each of three words once. A mount counts as if it had no list, so that as many may be
	// mounted as before it had one.
	options, words = "bindMountOptions", 3

	// block is how many characters the longest block of addresses has, which is one of IPv6. Rules read blocks, and the API
	// server reckons what a rule costs at most.
	block = 43

	// amount is what a quantity looks like: 32 digits and two of an exponent. The pattern of Kubernetes allows any number, and a client
	// that compares 1e100000000 with something takes a minute for it.
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
	limit(crd, 0)
	limited, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("write %s: %w", args[0], err)
	}
	return os.WriteFile(args[0], append([]byte("---\n"), limited...), 0o644) //nolint:wrapcheck // it names the file
}

// limit limits each schema below a node of the CRD. depth is in how many lists and maps the node is.
func limit(node any, depth int) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			limit(child, depth)
		}
	case map[string]any:
		if name, entries := listOf(node); name != "" {
			setDefault(node, name, mostOf(entries, depth))
			depth++
		}
		if node["type"] == "integer" && node["format"] == "int32" {
			setDefault(node, "minimum", math.MinInt32)
			setDefault(node, "maximum", math.MaxInt32)
		}
		if _, has := node["pattern"]; has && node["x-kubernetes-int-or-string"] == true {
			node["pattern"] = amount
		}
		for name, child := range node {
			if field, isSchema := child.(map[string]any); isSchema {
				limitByName(name, field, depth)
			}
			limit(child, depth)
		}
	}
}

// limitByName limits a field whose lists need another limit than those of their kind.
func limitByName(name string, field map[string]any, depth int) {
	switch {
	case name == peers && depth == 1:
		setDefault(field, "maxItems", fewer)
	case name == options:
		setDefault(field, "maxItems", words)
	case name == "cidr" && field["type"] == "string":
		setDefault(field, "maxLength", block)
	}
}

// listOf returns the name of the limit, and the schema of an entry, if a schema is of a list or of a map. A field of the Collector can be
// named items, and none of its schema's types is text then.
func listOf(schema map[string]any) (limit string, entry map[string]any) {
	values, isMap := schema["additionalProperties"].(map[string]any)
	switch {
	case schema["type"] == "array":
		entry, _ = schema["items"].(map[string]any)
		return "maxItems", entry
	case schema["type"] == "object" && isMap:
		return "maxProperties", values
	}
	return "", nil
}

// mostOf returns how many of such entries there may be in so many lists and maps.
func mostOf(entry map[string]any, depth int) int {
	isInnermost := !hasLists(entry)
	switch {
	case depth == 0 && isInnermost:
		return most
	case depth == 0, isInnermost && (depth == 1 || entry["type"] != "object"):
		return fewer
	}
	return fewest
}

func hasLists(schema map[string]any) bool {
	if name, _ := listOf(schema); name != "" {
		return true
	}
	fields, _ := schema["properties"].(map[string]any)
	for name, field := range fields {
		if field, isSchema := field.(map[string]any); isSchema && name != options && hasLists(field) {
			return true
		}
	}
	return false
}

func setDefault(node map[string]any, name string, number int) {
	if _, has := node[name]; !has {
		node[name] = number
	}
}
