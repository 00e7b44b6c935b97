package main

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

func TestEachPlatformHasAnArchiveOfTheCommandLine(t *testing.T) {
	tree := newTree(t, map[string]string{
		"LICENSE": "text", "bin/cli-darwin-arm64/kube8-operator": "Mach-O", "bin/cli-windows-amd64/kube8-operator": "PE",
	})
	archives, err := tree.commandLines([]string{"darwin/arm64", "windows/amd64"})
	if err != nil || len(archives) != 2 || archives[0].name != "kube8-operator_1.2.3_darwin_arm64.tar.gz" || archives[1].name != "kube8-operator_1.2.3_windows_amd64.zip" {
		t.Fatalf("got %+v, %v", archives, err)
	}
	r, err := zip.NewReader(bytes.NewReader(archives[1].body), int64(len(archives[1].body)))
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
	if got := strings.Join(names, " "); got != "LICENSE kube8-operator.exe" {
		t.Errorf("the zip has %s", got)
	}
	if _, err := tree.commandLines([]string{"linux/amd64"}); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("want an error for a platform that was not built, got %v", err)
	}
}
