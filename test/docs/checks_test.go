package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// oldest is the file that says which Kubernetes is the oldest; OLM reads it there.
const oldest = "config/manifests/bases/kube8-operator.clusterserviceversion.yaml"

func TestEveryPageNamesTheSameOldestKubernetes(t *testing.T) {
	base := readFile(t, oldest)
	var csv struct {
		Spec struct{ MinKubeVersion string }
	}
	if err := yaml.Unmarshal([]byte(base), &csv); err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSuffix(csv.Spec.MinKubeVersion, ".0")
	texts := pages(t)
	texts[oldest] = base
	for _, page := range []string{"README.md", "docs/how-to/install.md", "docs/how-to/olm.md", oldest} {
		if !strings.Contains(texts[page], "Kubernetes "+version) {
			t.Errorf("%s does not say that the operator needs Kubernetes %s, as minKubeVersion in %s does", page, version, oldest)
		}
	}
	for page, text := range texts {
		for _, match := range regexp.MustCompile(`Kubernetes (1\.\d+)`).FindAllStringSubmatch(text, -1) {
			if match[1] != version {
				t.Errorf("%s speaks of Kubernetes %s, and minKubeVersion in %s is %s", page, match[1], oldest, version)
			}
		}
	}
}

// TestThePageForClientsChecksPullRequests runs its step for GitHub Actions and hook for pre-commit as these do, with a
// curl that answers with what was built here.
func TestThePageForClientsChecksPullRequests(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, "build").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	stub := t.TempDir()
	if err := os.WriteFile(filepath.Join(stub, "curl"), []byte("#!/bin/sh\nexec tar -cz -C '"+bin+"' kube8-operator\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", stub+":"+bin+":"+os.Getenv("PATH"))

	step, hook := readChecks(t)
	good := readFile(t, "config/samples/kube8_v1alpha1_collector.yaml")
	for name, row := range map[string]struct{ command, file, refusal string }{
		"the step and a good Collector":       {command: step, file: good},
		"the step and a bad Collector":        {command: step, file: strings.Replace(good, "tenant:", "tenat:", 1), refusal: ": spec.tenat: unknown field"},
		"the hook and a good Collector":       {command: hook, file: good},
		"the hook and a bad Collector":        {command: hook, file: strings.Replace(good, "tenant:", "tenat:", 1), refusal: ": spec.tenat: unknown field"},
		"the hook and a file of another kind": {command: hook, file: readFile(t, "config/samples/namespaces.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "collectors", "gateway.yaml")
			if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(row.file), 0o600)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", row.command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if (err != nil) != (row.refusal != "") || !strings.Contains(string(out), row.refusal) {
				t.Errorf("want a refusal with %q, got %v\n%s", row.refusal, err, out)
			}
		})
	}
}

// readChecks returns the command of the page's step, and that of its hook for a changed file.
func readChecks(t *testing.T) (step, hook string) {
	t.Helper()
	block := regexp.MustCompile("(?s)```yaml\n(# \\.github/workflows.*?)```").FindStringSubmatch(readFile(t, "docs/how-to/clients.md"))
	if block == nil {
		t.Fatal("docs/how-to/clients.md has no block that begins with .github/workflows")
	}
	var items []struct {
		Run   string
		Hooks []struct{ ID, Files string }
	}
	if err := yaml.Unmarshal([]byte(block[1]), &items); err != nil || len(items) != 2 || len(items[1].Hooks) != 1 {
		t.Fatalf("want one step and one hook, got %+v, %v", items, err)
	}
	var hooks []struct{ ID, Entry string }
	if err := yaml.Unmarshal([]byte(readFile(t, ".pre-commit-hooks.yaml")), &hooks); err != nil || len(hooks) != 1 {
		t.Fatalf("want one hook in .pre-commit-hooks.yaml, got %+v, %v", hooks, err)
	}
	const file = "collectors/gateway.yaml"
	if used := items[1].Hooks[0]; used.ID != hooks[0].ID || !regexp.MustCompile(used.Files).MatchString(file) {
		t.Errorf("the page's hook %+v is not %s for %s", used, hooks[0].ID, file)
	}
	return items[0].Run, hooks[0].Entry + " " + file
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
