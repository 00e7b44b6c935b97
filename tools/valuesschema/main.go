// Command valuesschema derives a Helm chart's values.schema.json from the spec of a CustomResourceDefinition, so that the
// two cannot drift. Helm stores the schema in every release, so it is kept small: no descriptions, and a part that occurs
// again is written once.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "valuesschema:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: valuesschema CRD.yaml values.schema.json")
	}
	in, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	out, err := Generate(in)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := os.WriteFile(args[1], out, 0o644); err != nil {
		return fmt.Errorf("write the schema: %w", err)
	}
	return nil
}
