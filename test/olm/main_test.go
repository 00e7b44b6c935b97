//go:build e2e

// Package olm tests the bundle and the catalog: with the validators of operator-sdk and opm, with the scorecard in real
// pods, and with the real OLM, which installs the operator from the catalog, upgrades it and removes it. Images are built
// here and given to the nodes with $E2E_LOAD, so no registry is needed.
//
// What was found is written to the table in docs/how-to/olm.md. `make bundle-validate`, `make scorecard` and `make e2e-olm` each
// write their part of it.
package olm

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	registry        = "ghcr.io/kube8/kube8-operator"
	systemNamespace = "kube8-operator-system"
	operatorName    = "kube8-operator-controller-manager"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// Where the Makefile is, the bundle and the catalog.
	if err := os.Chdir("../.."); err != nil {
		return 1, err
	}
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	// Tests mostly wait, so more of them can run than there are processors.
	if err := flag.Set("test.parallel", "3"); err != nil {
		return 1, err
	}
	code = m.Run()
	if err := results.write("docs/how-to/olm.md"); err != nil {
		return 1, err
	}
	return code, nil
}

// version is the version that this tree is.
func version(t *testing.T) string {
	t.Helper()
	_, tag, found := strings.Cut(os.Getenv("IMG"), ":v")
	if !found {
		t.Fatalf("IMG %q does not end in the operator's version: run the tests with make", os.Getenv("IMG"))
	}
	return tag
}

// awaitTurn waits as long as others have the cluster: until the file $E2E_AFTER is there.
func awaitTurn(t *testing.T) {
	t.Helper()
	if turn := os.Getenv("E2E_AFTER"); turn != "" {
		NewWithT(t).Eventually(turn).WithTimeout(40 * time.Minute).Should(BeAnExistingFile())
	}
}

// command runs a program and returns what it printed, or ends the test.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// output runs a program, and returns what it printed for programs to read.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var complaint strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, complaint.String())
	}
	return string(out), err
}

// programs builds programs, unless they are there, and returns their folder.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := output(t.Context(), "go", append([]string{"-C", "test/cluster", "run", ".", "assets"}, names...)...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(dir)
}
