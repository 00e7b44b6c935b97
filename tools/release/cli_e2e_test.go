//go:build e2e

package main

import (
	"archive/zip"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// checkCommandLines unpacks the archive of each platform, and renders the samples with that of this machine, in a folder
// where nothing else is.
func checkCommandLines(t *testing.T, dir, version string) {
	t.Helper()
	for _, platform := range []string{
		"linux_amd64.tar.gz", "linux_arm64.tar.gz", "darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip",
	} {
		archive := filepath.Join(dir, "dist", "kube8-operator_"+version+"_"+platform)
		unpacked, program := t.TempDir(), "kube8-operator"
		if strings.HasSuffix(archive, ".zip") {
			program += ".exe"
			unzip(t, archive, unpacked)
		} else {
			unpack(t, decompress(t, archive), unpacked)
		}
		entries, err := os.ReadDir(unpacked)
		if err != nil || len(entries) != 2 || entries[0].Name() != "LICENSE" || entries[1].Name() != program {
			t.Errorf("%s has %v, %v", platform, entries, err)
			continue
		}
		program = filepath.Join(unpacked, program)
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Errorf("%s: %v", platform, err)
			continue
		}
		built := func(key string) string {
			return info.Settings[slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })].Value
		}
		if got := built("GOOS") + "_" + built("GOARCH"); got != strings.SplitN(platform, ".", 2)[0] {
			t.Errorf("%s is built for %s", platform, got)
		}
		if strings.HasPrefix(platform, runtime.GOOS+"_"+runtime.GOARCH+".") {
			renderSamples(t, program, filepath.Join(dir, "config/samples"), version)
		}
	}
}

func renderSamples(t *testing.T, program, samples, version string) {
	t.Helper()
	if out := command(t, program, "version"); !strings.HasPrefix(out, "kube8-operator v"+version+" ") {
		t.Errorf("the command line says %q", out)
	}
	cmd := exec.CommandContext(t.Context(), program, "render", samples)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "kind: DaemonSet") {
		t.Errorf("render the samples: %v\n%s", err, out)
	}
}

func unzip(t *testing.T, archive, dir string) {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
}
