//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 16. The operator is deployed already and its image loaded, not pulled, so only its manifests are applied once more.

func TestTheQuickstartOfTheREADMEBecomesReady(t *testing.T) {
	script, err := docs.Script("README.md", "Quickstart")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := makeTarget(t.Context(), "plugin"); err != nil {
		t.Fatalf("make plugin: %v\n%s", err, out)
	}
	manifest, err := filepath.Abs("bin/overlay/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const install = "make docker-build docker-push deploy plugin IMG=registry.example.com/kube8-operator:dev"
	if !strings.Contains(script, install) {
		t.Fatalf("the quickstart does not install the operator by: %s", install)
	}
	script = strings.ReplaceAll(script, install, "kubectl apply --server-side -f "+manifest)
	gateway := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-shop", Name: "gateway"}}
	t.Cleanup(func() {
		if t.Failed() {
			dump(t, gateway.Namespace)
		}
		removeCollectors(t, gateway.Namespace)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gateway.Namespace}}
		if err := cluster.Delete(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	shell.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(shell.Dir, "config.yaml"), []byte(printing("basic")), 0o600); err != nil {
		t.Fatal(err)
	}
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(filepath.Dir(manifest))+":"+filepath.Dir(os.Getenv("KUBECTL"))+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	awaitReady(t, gateway)
}
