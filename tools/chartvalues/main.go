// Command chartvalues writes the table of a chart's values into the chart's README.md: names and descriptions are those of
// values.schema.json, and defaults those of values.yaml.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	begin = "<!-- written by `make chart`: begin -->\n"
	end   = "<!-- written by `make chart`: end -->"
)

// schema is a part of a values.schema.json.
type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chartvalues CHART")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "chartvalues: %v\n", err)
		os.Exit(1)
	}
}

func run(chart string) error {
	var of schema
	var defaults map[string]any
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil {
		return fmt.Errorf("read the schema of %s: %w", chart, err)
	}
	text, err = os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &defaults)
	}
	if err != nil {
		return fmt.Errorf("read the values of %s: %w", chart, err)
	}
	lines, err := table("", of, defaults)
	if err != nil {
		return err
	}
	readme := filepath.Join(chart, "README.md")
	page, err := os.ReadFile(readme)
	if err != nil {
		return fmt.Errorf("read the README of %s: %w", chart, err)
	}
	before, _, hasBegin := strings.Cut(string(page), begin)
	_, after, hasEnd := strings.Cut(string(page), end)
	if !hasBegin || !hasEnd {
		return fmt.Errorf("%s has no place for the table: add the lines %q and %q", readme, begin, end)
	}
	written := before + begin + "\n| Value | Default | What for |\n| --- | --- | --- |\n" + strings.Join(lines, "") + "\n" + end + after
	if err := os.WriteFile(readme, []byte(written), 0o644); err != nil {
		return fmt.Errorf("write the README of %s: %w", chart, err)
	}
	return nil
}

// table returns a line for each value below a name. A value without a default, or with one that the schema does not have, is an error,
// because one of the two files is wrong. Values that are there for Helm, and that the chart does not read, have none.
func table(name string, of schema, defaults map[string]any) (lines []string, err error) {
	for key := range defaults {
		if _, is := of.Properties[key]; !is {
			err = errors.Join(err, fmt.Errorf("%s is in values.yaml, and not in values.schema.json", name+key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(of.Properties)) {
		value, has := defaults[key]
		part := of.Properties[key]
		switch below, _ := value.(map[string]any); {
		case name == "" && slices.Contains([]string{"enabled", "global"}, key):
		case !has || part.Description == "" && part.Properties == nil:
			err = errors.Join(err, fmt.Errorf("%s needs a default in values.yaml, and a description in values.schema.json", name+key))
		case part.Properties != nil:
			more, failed := table(name+key+".", part, below)
			lines, err = append(lines, more...), errors.Join(err, failed)
		default:
			text, failed := json.Marshal(value)
			lines = append(lines, fmt.Sprintf("| `%s` | `%s` | %s |\n", name+key, text, part.Description))
			err = errors.Join(err, failed)
		}
	}
	return lines, err
}
