//go:build e2e

package olm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// previous is the version that the test upgrades from: this tree, at an older version, until there is a release.
	previous     = "0.0.1"
	previousTree = "bin/previous"

	olmImage     = "kube8.dev/olm:v1"
	bundleImage  = registry + "-bundle:v"
	catalogImage = registry + "-catalog:v"
)

// images builds and loads what OLM installs. It returns OLM's own image, and a catalog with the previous version and one
// with this version as well.
func images(t *testing.T) (olm, first, second string) {
	t.Helper()
	built := programs(t, "olm", "catalog", "copy-content", "cpb", "cp", "opm", "grpc_health_probe")
	build(t, olmImage, "test/olm/Dockerfile", built, "--target=olm")
	olm = load(t, olmImage)

	copyTree(t)
	makePrevious := func(image, version string, targets ...string) {
		command(t, "make", append([]string{
			"--no-print-directory", "-C", previousTree, "IMG=" + registry + ":v" + version, "BUNDLE_IMG=" + image, "VERSION=" + version,
		}, targets...)...)
	}
	makePrevious("", previous, "docker-build", "bundle")
	load(t, registry+":v"+previous)
	build(t, bundleImage+previous, previousTree+"/bundle.Dockerfile", previousTree)
	makePrevious(load(t, bundleImage+previous), previous, "catalog")
	build(t, catalogImage+previous, previousTree+"/catalog.Dockerfile", previousTree)
	first = load(t, catalogImage+previous)

	build(t, bundleImage+version(t), "bundle.Dockerfile", ".")
	makePrevious(load(t, bundleImage+version(t)), version(t), "catalog")
	build(t, catalogImage+version(t), previousTree+"/catalog.Dockerfile", previousTree)
	return olm, first, load(t, catalogImage+version(t))
}

// copyTree copies what of this tree git knows or would add, without the catalog.
func copyTree(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(previousTree); err != nil {
		t.Fatal(err)
	}
	files := command(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for file := range strings.SplitSeq(strings.Trim(files, "\x00"), "\x00") {
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) || strings.HasPrefix(file, "catalog/") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(previousTree, file)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
