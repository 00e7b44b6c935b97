//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 15.

func TestTheCommandsForClientsDoWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	script, err := docs.Blocks("docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t, "restricted")
	// -v prints what it runs before variables have their values: no token.
	shell := exec.CommandContext(t.Context(), "bash", "-veuo", "pipefail", "-c", strings.ReplaceAll(script, "tenant-acme", namespace))
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
