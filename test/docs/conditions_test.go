package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reason finds the reasons of events in the operator's code: of a call, of a constant of one, and of a condition that has an event.
var reason = regexp.MustCompile(`(?:EventType(?:Normal|Warning)|"Normal"),\s*"(\w+)"|(?:finalizerRefused|statusRefused) += "(\w+)"|` +
	`v1alpha1\.Reason\w+: +"(\w+)"`)

// conditionType finds the types of conditions that the operator sets.
var conditionType = regexp.MustCompile(`Type: +"(\w+)"|find\(\w+, "(\w+)"\)|(?m)^const (\w+Ready|Stalled|UpdatePending|DataFlowing) =`)

func TestOnePageListsAllConditionsAndEvents(t *testing.T) {
	page := readFile(t, "docs/reference/conditions.md")
	found := map[string]bool{}
	for _, folder := range []string{"internal/reconcile", "internal/rollout", "internal/status", "api/v1alpha1"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, pattern := range []*regexp.Regexp{reason, conditionType} {
				for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
					found[strings.Join(match[1:], "")] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 25 {
		t.Fatalf("%d conditions and events in the operator's code: %v", len(found), found)
	}
	for name := range found {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/reference/conditions.md does not say what %s means", name)
		}
	}
}
