//go:build promtool

package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestPromtoolAcceptsTheRulesAndTheirUnitTestsPass(t *testing.T) {
	for name, file := range sources {
		t.Run(name, func(t *testing.T) {
			// promtool wants the rules without what the Prometheus operator has around them, beside their tests.
			dir := t.TempDir()
			rules, err := yaml.Marshal(map[string]any{"groups": read(t, file)})
			if err != nil {
				t.Fatal(err)
			}
			tests, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string][]byte{"rules.yaml": rules, "tests.yaml": tests} {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			promtool(t, dir, "check", "rules", "--lint-fatal", "rules.yaml")
			promtool(t, dir, "test", "rules", "tests.yaml")
		})
	}
}

func TestPromtoolReadsTheQueriesOfTheDashboards(t *testing.T) {
	files, err := filepath.Glob("../../config/grafana/*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("dashboards: %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkQueries(t, file) })
	}
}

func checkQueries(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	var rules []map[string]string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "5m", "$signal", "spans", "${signal}", "spans").Replace(target.Expr)
			rules = append(rules, map[string]string{"record": fmt.Sprintf("query:%d", len(rules)), "expr": query})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, dir, "check", "rules", "rules.yaml")
}

// promtool runs promtool in a directory.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v; promtool is in Debian's package prometheus\n%s", args, err, out)
	}
}
