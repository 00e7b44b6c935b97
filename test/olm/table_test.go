//go:build e2e

package olm

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// results are what the tests of this run found, in their order.
var results table

type table []*row

type row struct {
	suite, test string
	failed      bool
	warnings    []string
}

// report has a test's result in the table. The function that it returns adds a warning to it.
func report(t *testing.T, suite, test string) (warn func(string)) {
	t.Helper()
	r := &row{suite: suite, test: test}
	results = append(results, r)
	t.Cleanup(func() { r.failed = t.Failed() })
	return func(warning string) { r.warnings = append(r.warnings, strings.Join(strings.Fields(warning), " ")) }
}

func (r *row) String() string {
	result := "pass"
	if r.failed {
		result = "**fail**"
	}
	cells := []string{r.suite, r.test, result, strings.Join(r.warnings, "; ")}
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

const head = "| suite | test | result | warnings |\n| --- | --- | --- | --- |\n"

// write puts the rows into the file's table, in the place of those of the same suites.
func (t table) write(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, after, found := strings.Cut(string(content), head)
	if !found {
		return fmt.Errorf("%s has no table that begins with\n%s", path, head)
	}
	var lines []string
	for strings.HasPrefix(after, "|") {
		var line string
		line, after, _ = strings.Cut(after, "\n")
		if !slices.ContainsFunc(t, func(r *row) bool { return r.suite == suiteOf(line) }) {
			lines = append(lines, line)
		}
	}
	for _, r := range t {
		lines = append(lines, r.String())
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(suiteOf(a), suiteOf(b)) })
	return os.WriteFile(path, []byte(before+head+strings.Join(append(lines, after), "\n")), 0o644)
}

func suiteOf(line string) string { return strings.TrimSpace(strings.SplitN(line, "|", 3)[1]) }
