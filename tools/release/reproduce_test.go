//go:build e2e

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheSameCommitGivesTheSameRelease makes the release of HEAD in two clones that have little in common, and then tries
// what it holds.
func TestTheSameCommitGivesTheSameRelease(t *testing.T) {
	cache := strings.TrimSpace(command(t, "go", "env", "GOCACHE", "GOMODCACHE"))
	compiled, modules, _ := strings.Cut(cache, "\n")
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "in", "another", "folder")
	command(t, "git", "clone", "--quiet", "../..", first)
	text, err := os.ReadFile(filepath.Join(first, versionFile))
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(text), "newTag: v")
	version = strings.TrimSpace(version)
	cut(t, first, version)
	command(t, "git", "clone", "--quiet", first, second)

	platforms := strings.Split(os.Getenv("CLI_PLATFORMS"), ",")
	if len(platforms) < 2 {
		t.Fatalf("CLI_PLATFORMS names %q: run make release-check, which names all platforms of the command lines", platforms)
	}
	made := map[string]string{}
	for dir, environment := range map[string]string{
		first: "umask 022; CLI_PLATFORMS=" + strings.Join(platforms, ",") + "; export TZ=UTC LANG=C",
		// Two platforms of the command lines tell whether the bytes are the same, and linking all of them takes minutes.
		second: "umask 077; CLI_PLATFORMS=" + strings.Join(platforms[len(platforms)-2:], ",") + "; export TZ=Asia/Tokyo LANG=de_DE.UTF-8 HOME=" + t.TempDir(),
	} {
		command(t, "bash", "-c", environment+" GOCACHE="+compiled+" GOMODCACHE="+modules+
			"; make --no-print-directory -C "+dir+" release VERSION="+version+" CLI_PLATFORMS=$CLI_PLATFORMS")
		sums, err := os.ReadFile(filepath.Join(dir, "dist", "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if changes := command(t, "git", "-C", dir, "status", "--porcelain"); changes != "" {
			t.Errorf("making the release changed files that git knows:\n%s", changes)
		}
		made[dir] = string(sums)
	}
	t.Logf("checksums.txt, twice:\n%s", made[first])
	if others := differing(made[first], made[second], 2*(len(platforms)-2)); len(others) > 0 {
		t.Errorf("the second release differs:\n%s", strings.Join(others, "\n"))
	}
	dist := filepath.Join(first, "dist")
	t.Run("checksums", func(t *testing.T) { checkSums(t, dist, made[first]) })
	t.Run("images", func(t *testing.T) { checkImages(t, dist, version) })
	t.Run("manifests", func(t *testing.T) { checkManifests(t, first, version) })
	t.Run("folders", func(t *testing.T) { checkFolders(t, first) })
	t.Run("charts", func(t *testing.T) { checkCharts(t, first, version) })
	t.Run("SBOMs", func(t *testing.T) { checkSBOMs(t, first) })
	t.Run("VEX", func(t *testing.T) { checkImagesVEX(t, first, version) })
	t.Run("command lines", func(t *testing.T) { checkCommandLines(t, first, version, platforms) })
	t.Run("notes", func(t *testing.T) { checkNotes(t, dist) })
}

// differing returns the lines of a release's checksums.txt that another release of fewer platforms, which lacks so many archives, has
// otherwise. Krew's manifest is of all platforms.
func differing(all, fewer string, lacking int) (lines []string) {
	for line := range strings.Lines(fewer) {
		if !strings.Contains(all, line) && !strings.HasSuffix(line, "  collector.yaml\n") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	if few := strings.Count(all, "\n") - strings.Count(fewer, "\n"); few != lacking {
		lines = append(lines, fmt.Sprintf("it lacks %d archives of the command lines, want %d", few, lacking))
	}
	return lines
}

// cut does to a clone what a maintainer does before a release: it gives the version's name to what is not released yet.
func cut(t *testing.T, dir, version string) {
	t.Helper()
	path := filepath.Join(dir, changelog)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "\n## ["+version+"] - ") {
		return
	}
	named := strings.Replace(string(text), "\n## [Unreleased]\n", "\n## ["+version+"] - 2026-01-02\n", 1)
	if err := os.WriteFile(path, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "--quiet", "--all", "--message=Release "+version, "--date=2026-01-02T03:04:05Z")
}

func checkSums(t *testing.T, dist, sums string) {
	t.Helper()
	files, err := readFiles(dist, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(f.body), f.name); f.name != "checksums.txt" && !strings.Contains(sums, sum) {
			t.Errorf("checksums.txt has no line %q", sum)
		}
	}
	if lines := strings.Count(sums, "\n"); lines != len(files)-1 {
		t.Errorf("checksums.txt has %d lines for %d files", lines, len(files)-1)
	}
}

func checkNotes(t *testing.T, dist string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, "notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n- ", "ghcr.io/kube8/kube8-operator-catalog:v"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the notes have no %q:\n%s", want, text)
		}
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
