package main

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const text = `# Changelog

## [Unreleased]

- Not yet.

## [1.2.0] - 2026-01-02

### Added

- One.

## [1.1.0] - 2025-12-24

## [1.0.0] - 2025-11-11

- All.
`
	for name, row := range map[string]struct{ version, want, fails string }{
		"a section ends where the next begins":     {version: "1.2.0", want: "### Added\n\n- One.\n"},
		"the last section ends with the file":      {version: "1.0.0", want: "- All.\n"},
		"a section that says nothing is refused":   {version: "1.1.0", fails: "CHANGELOG.md says nothing about version 1.1.0"},
		"a version without a section is refused":   {version: "2.0.0", fails: `has no section "## [2.0.0] - YYYY-MM-DD"`},
		"the beginning of a version is not enough": {version: "1.2", fails: "has no section"},
		"what is not released has no version yet":  {version: "Unreleased", fails: "has no section"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := section(text, row.version)
			switch {
			case row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)):
				t.Errorf("want an error with %q, got %v", row.fails, err)
			case row.fails == "" && (err != nil || got != row.want):
				t.Errorf("want %q, got %q, %v", row.want, got, err)
			}
		})
	}
}
