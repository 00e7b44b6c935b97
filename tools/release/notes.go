package main

import (
	"fmt"
	"os"
	"strings"
)

const changelog = "CHANGELOG.md"

// notes returns the section of CHANGELOG.md that is about the tree's version, without its heading.
func (t *tree) notes() (string, error) {
	text, err := os.ReadFile(t.path(changelog))
	if err != nil {
		return "", fmt.Errorf("read the changelog: %w", err)
	}
	return section(string(text), t.version)
}

// section returns what stands between the heading "## [version] - date" and the next of its kind.
func section(text, version string) (string, error) {
	heading := "## [" + version + "] - "
	_, rest, found := strings.Cut("\n"+text, "\n"+heading)
	if !found {
		return "", fmt.Errorf(`%s has no section "%sYYYY-MM-DD": give that name to what is under "## [Unreleased]"`, changelog, heading)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	rest, _, _ = strings.Cut("\n"+rest, "\n## ")
	if rest = strings.TrimSpace(rest); rest == "" {
		return "", fmt.Errorf("%s says nothing about version %s: say what a user will notice", changelog, version)
	}
	return rest + "\n", nil
}
