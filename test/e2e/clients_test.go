//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 15.

func TestTheCommandsForClientsDoWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	script, err := docs.Blocks("docs/how-to/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t, "restricted")
	// -v prints what it runs before variables have their values: no token.
	shell := exec.CommandContext(t.Context(), "bash", "-veuo", "pipefail", "-c", strings.ReplaceAll(script, "tenant-acme", namespace))
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "KUBECONFIG="+slashedKubeconfig(t))
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

// slashedKubeconfig writes the kubeconfig of this cluster with a server that ends in "/", as that of the demo does, and of
// some providers.
func slashedKubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	cluster.Server = strings.TrimSuffix(cluster.Server, "/") + "/"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
