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

// checkCommandLines unpacks the archives of each platform, and renders the samples with those of this machine, in a folder
// where nothing else is. It checks krew's manifest against the archives.
func checkCommandLines(t *testing.T, dir, version string, platforms []string) {
	t.Helper()
	plugins := map[string][]byte{}
	for _, name := range []string{operator, plugin} {
		for _, archive := range checkCommandLine(t, dir, name, version, platforms) {
			if name == plugin {
				plugins[filepath.Base(archive)] = readFile(t, archive)
			}
		}
	}
	if err := checkKrew(readFile(t, filepath.Join(dir, "dist", "collector.yaml")), version, plugins); err != nil {
		t.Error(err)
	}
}

func checkCommandLine(t *testing.T, dir, name, version string, platforms []string) (archives []string) {
	t.Helper()
	for _, platform := range platforms {
		platform = strings.ReplaceAll(platform, "/", "_")
		extension := ".tar.gz"
		if strings.HasPrefix(platform, "windows_") {
			extension = ".zip"
		}
		archive := filepath.Join(dir, "dist", name+"_"+version+"_"+platform+extension)
		archives = append(archives, archive)
		unpacked, program := t.TempDir(), name
		if extension == ".zip" {
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
		if got := built("GOOS") + "_" + built("GOARCH"); got != platform {
			t.Errorf("%s is built for %s", platform, got)
		}
		if platform == runtime.GOOS+"_"+runtime.GOARCH {
			renderSamples(t, program, filepath.Join(dir, "config/samples"), name+" v"+version+" ")
		}
	}
	return archives
}

func renderSamples(t *testing.T, program, samples, version string) {
	t.Helper()
	if out := command(t, program, "version"); !strings.HasPrefix(out, version) {
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
