//go:build promtool

package rules

import (
	"os"
	"os/exec"
	"path/filepath"
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

// promtool runs promtool in a directory.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v; promtool is in Debian's package prometheus\n%s", args, err, out)
	}
}
