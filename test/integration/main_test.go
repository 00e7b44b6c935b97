// Package integration tests the operator as its users run it: the built binary, as its own ServiceAccount with the
// shipped RBAC and chart, against a real API server and etcd. There are no controllers beside it, so no pods run, and
// nothing but the operator itself cleans up.
package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// systemNamespace is where the operator lives.
const systemNamespace = "kube8-operator-system"

var (
	// plane is the control plane that all tests share.
	plane *controlPlane

	// shared is the operator that works on all namespaces. A test that stops it must not run in parallel with others,
	// and starts it again.
	shared *operator

	// metricsAddress is where the shared operator serves its metrics.
	metricsAddress string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test`, which builds etcd and kube-apiserver and sets it")
	}
	// The paths in these tests are relative to the root of the repository.
	if err := os.Chdir("../.."); err != nil {
		return 1, err
	}
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	ctrl.SetLogger(logr.Discard()) // the tests' own clients have nothing to say
	flag.Parse()
	debug.SetGCPercent(400) // there is more memory than there are processors
	// Tests mostly wait, so more of them can run than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return 1, err
	}

	dir, err := os.MkdirTemp("", "kube8-operator-integration-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "kube8-operator")
	if err := build(binary); err != nil {
		return 1, err
	}
	if err := findServedCRDs(); err != nil {
		return 1, err
	}
	ctx := context.Background()
	if plane, err = startControlPlane(ctx, dir); err != nil {
		return 1, errors.Join(err, plane.stop())
	}
	if metricsAddress, err = freeAddress(); err != nil {
		return 1, errors.Join(err, plane.stop())
	}
	shared = &operator{
		binary:  binary,
		account: types.NamespacedName{Namespace: systemNamespace, Name: "kube8-operator-controller-manager"},
		args: []string{
			"--leader-elect", "--leader-election-namespace=" + systemNamespace,
			"--metrics-bind-address=" + metricsAddress, "--metrics-secure=false",
			"--flow-host-network", "--flow-period=1s", // pages are on loopback addresses, and nobody waits for minutes
		},
	}
	if err := shared.start(ctx); err != nil {
		return 1, errors.Join(err, plane.stop())
	}
	code = m.Run()
	err = errors.Join(shared.stop(), plane.stop(), finishLeakTest(), checkPrivileges(code == 0))
	printFigures()
	if err != nil {
		return 1, err
	}
	return code, nil
}

// build builds the operator with the flags of the Makefile, so that they share the build cache.
func build(binary string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/kube8-operator")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return nil
}
