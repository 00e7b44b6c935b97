package main

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

func TestEachPlatformHasAnArchiveOfEachCommandLine(t *testing.T) {
	tree := newTree(t, map[string]string{
		"LICENSE":                             "text",
		"bin/cli-darwin-arm64/kube8-operator": "Mach-O", "bin/cli-darwin-arm64/kubectl-collector": "Mach-O too",
		"bin/cli-windows-amd64/kube8-operator": "PE", "bin/cli-windows-amd64/kubectl-collector": "PE too",
	})
	archives, err := tree.commandLines([]string{"darwin/arm64", "windows/amd64"})
	var names []string
	for _, archive := range archives {
		names = append(names, archive.name)
	}
	want := "kube8-operator_1.2.3_darwin_arm64.tar.gz kube8-operator_1.2.3_windows_amd64.zip " +
		"kubectl-collector_1.2.3_darwin_arm64.tar.gz kubectl-collector_1.2.3_windows_amd64.zip collector.yaml"
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Fatalf("got %s, %v", got, err)
	}
	for archive, want := range map[int]string{1: "LICENSE kube8-operator.exe", 3: "LICENSE kubectl-collector.exe"} {
		r, err := zip.NewReader(bytes.NewReader(archives[archive].body), int64(len(archives[archive].body)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range r.File {
			names = append(names, f.Name)
			if !f.Modified.Equal(tree.time) {
				t.Errorf("%s bears the time %s, not that of the commit", f.Name, f.Modified)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("the zip has %s, want %s", got, want)
		}
	}
	if err := checkKrew(archives[4].body, "1.2.3", map[string][]byte{
		"kubectl-collector_1.2.3_darwin_arm64.tar.gz": archives[2].body, "kubectl-collector_1.2.3_windows_amd64.zip": archives[3].body,
	}); err != nil {
		t.Error(err)
	}
	if _, err := tree.commandLines([]string{"linux/amd64"}); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("want an error for a platform that was not built, got %v", err)
	}
}
