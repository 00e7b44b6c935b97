package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The generated part of the report is between these.
const (
	reportBegin = "<!-- written by `bench -report`: begin -->\n"
	reportEnd   = "<!-- written by `bench -report`: end -->\n"
)

// report puts measurements into a Markdown file, between the marks, and their plot into the file beside it that has its
// name and ends in .svg.
func report(path string, files []string) error {
	m, err := read(files)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	generated := m.markdown()
	if m.Scale != nil {
		chart, err := m.Scale.svg()
		if err != nil {
			return err
		}
		plot := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
		if err := os.WriteFile(plot, chart, 0o644); err != nil {
			return err
		}
		generated += fmt.Sprintf("\n![CPU and memory against the number of Collectors](%s)\n", filepath.Base(plot))
	}
	replaced, err := between(string(text), reportBegin, reportEnd, "\n"+generated+"\n")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(replaced), 0o644)
}

// between replaces what is between two marks.
func between(text, begin, end, with string) (string, error) {
	before, rest, foundBegin := strings.Cut(text, begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		return "", errors.New("there are no marks between which the figures go: " + strings.TrimSpace(begin+end))
	}
	return before + begin + with + end + after, nil
}
