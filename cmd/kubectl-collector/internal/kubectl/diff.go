package kubectl

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// unified returns what differs between two texts, as `diff -u` prints it, or "".
func unified(fromName, from, toName, to string) (string, error) {
	if from == to {
		return "", nil
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: linesOf(from), FromFile: fromName, B: linesOf(to), ToFile: toName, Context: 3,
	})
	if err != nil {
		return "", fmt.Errorf("compare: %w", err)
	}
	return text, nil
}

// linesOf returns the lines of a text, each with its line break. It marks a last line that has none.
func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	lines[last] += "\n\\ No newline at end of file\n"
	return lines
}
