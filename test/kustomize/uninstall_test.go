package kustomize

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kubectlWithACollector answers as the kubectl of a cluster that has one, and notes in $DELETED what it should delete.
const kubectlWithACollector = `#!/bin/sh
case "$*" in
"get crd "*) echo customresourcedefinition.apiextensions.k8s.io/collectors.kube8.dev ;;
"get collectors.kube8.dev "*) printf 'tenant-acme/gateway ' ;;
"delete "*) echo "$*" >>"$DELETED" && cat >/dev/null ;;
esac
`

// OLM keeps the CRD and the Collectors. What removes the CRD removes all Collectors with it, so there KEEP_COLLECTORS could keep none.
func TestOnlyWhatKeepsTheCRDMayKeepCollectors(t *testing.T) {
	for name, row := range map[string]struct {
		arguments string
		deletes   bool
	}{
		"make uninstall deletes the CRD":            {"uninstall KEEP_COLLECTORS=1", false},
		"make undeploy deletes the CRD":             {"undeploy KEEP_COLLECTORS=1", false},
		"make undeploy, although one of both may":   {"undeploy-olm undeploy KEEP_COLLECTORS=1", false},
		"make undeploy-olm, unless it is told":      {"undeploy-olm", false},
		"make undeploy-olm leaves the CRD, if told": {"undeploy-olm KEEP_COLLECTORS=1", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kubectl, deleted := filepath.Join(dir, "kubectl"), filepath.Join(dir, "deleted")
			if err := os.WriteFile(kubectl, []byte(kubectlWithACollector), 0o700); err != nil {
				t.Fatal(err)
			}
			arguments := slices.Concat([]string{"-C", "../..", "KUBECTL=" + kubectl}, strings.Fields(row.arguments))
			cmd := exec.CommandContext(t.Context(), "make", arguments...)
			cmd.Env = append(os.Environ(), "DELETED="+deleted, "MAKEFLAGS=", "KEEP_COLLECTORS=") // this test may be one of make's
			out, err := cmd.CombinedOutput()
			if (err == nil) != row.deletes {
				t.Errorf("error %v\n%s", err, out)
			}
			if text, _ := os.ReadFile(deleted); (len(text) > 0) != row.deletes {
				t.Errorf("deleted: %q\n%s", text, out)
			}
			if !strings.Contains(string(out), "Collectors that still exist: tenant-acme/gateway.") {
				t.Errorf("nothing tells of the Collector:\n%s", out)
			}
		})
	}
}
