//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/test/docs"
)

// Scenario 16, with pods that are not simulated.
func TestATenantsFirstHour(t *testing.T) {
	t.Parallel()
	if out, err := makeTarget(t.Context(), "plugin"); err != nil {
		t.Fatalf("make plugin: %v\n%s", err, out)
	}
	bin, err := filepath.Abs("bin")
	if err != nil {
		t.Fatal(err)
	}
	endsWithTest(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "my-team"}}) // the tutorial creates it
	path := bin + ":" + filepath.Dir(os.Getenv("KUBECTL")) + ":" + os.Getenv("PATH")
	docs.Follow(t, "docs/tutorials/first-hour.md", append(os.Environ(), "PATH="+path), docs.FirstHour)
}
