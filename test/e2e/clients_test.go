//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// commands are the blocks of a document that a test runs.
var commands = regexp.MustCompile("(?s)\n```sh\n(.*?)```")

// Scenario 15.

func TestTheCommandsForClientsDoWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range commands.FindAllStringSubmatch(string(text), -1) {
		script.WriteString(block[1])
	}
	namespace := newNamespace(t, "restricted")
	// -v prints what it runs before variables have their values: no token.
	shell := exec.CommandContext(t.Context(), "bash", "-veuo", "pipefail", "-c", strings.ReplaceAll(script.String(), "tenant-acme", namespace))
	shell.Dir = t.TempDir()
	shell.Env = os.Environ()
	if kubectl, err := filepath.Abs(os.Getenv("KUBECTL")); err == nil && os.Getenv("KUBECTL") != "" {
		shell.Env = append(shell.Env, "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	}
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := NewWithT(t)
	g.Expect(string(out)).To(ContainSubstring(`"type":"ADDED","object":{"apiVersion":"kube8.dev/v1alpha1","kind":"Collector"`), "the watch by curl")
	g.Expect(string(out)).To(ContainSubstring("condition met"), "the wait by kubectl")
}
