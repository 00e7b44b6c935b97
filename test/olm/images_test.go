//go:build e2e

package olm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// previous is the version that the test upgrades from: this tree, at an older version, until there is a release.
	previous     = "0.0.1"
	previousTree = "bin/previous"

	olmImage     = "kube8.dev/olm:v0"
	bundleImage  = registry + "-bundle:v"
	catalogImage = registry + "-catalog:v"
)

// suffix makes tags that no earlier run has used: a node may take half a minute to tell of what a tag has become.
var suffix = "-" + strconv.FormatInt(time.Now().Unix(), 36)

// images builds and loads what OLM installs. It returns OLM's own image, a catalog with the previous version, and one with
// this version as well.
func images(t *testing.T) (olm, first, second string) {
	t.Helper()
	this := version(t)
	olm = olmImage + suffix
	built := prepare(t)
	build(t, olm, "test/olm/Dockerfile", built, "--target=olm")
	bundles(t)
	for _, image := range []string{olm, bundleImage + previous + suffix, bundleImage + this + suffix} {
		load(t, image)
	}
	// The second adds to the first what `make catalog` adds to the catalog of a release.
	for _, version := range []string{previous, this} {
		makePrevious(t, version, "catalog", "BUNDLE_IMG="+digest(t, bundleImage+version+suffix))
		build(t, catalogImage+version+suffix, previousTree+"/catalog.Dockerfile", previousTree)
		load(t, catalogImage+version+suffix)
	}
	return digest(t, olm), digest(t, catalogImage+previous+suffix), digest(t, catalogImage+this+suffix)
}

var prepared bool

// prepare makes what the tests of both OLMs need, once, because each has to wait for its turn: their programs, whose folder it returns, and
// the previous version.
func prepare(t *testing.T) (dir string) {
	t.Helper()
	dir = programs(t, "olm", "catalog", "copy-content", "cpb", "cp", "opm", "grpc_health_probe", "catalogd", "operator-controller")
	if prepared {
		return dir
	}
	copyTree(t)
	makePrevious(t, previous, "docker-build", "bundle")
	load(t, registry+":v"+previous)
	prepared = true
	return dir
}

// bundles builds the images of both versions' bundles.
func bundles(t *testing.T) {
	t.Helper()
	makePrevious(t, previous, "bundle")
	build(t, bundleImage+previous+suffix, previousTree+"/bundle.Dockerfile", previousTree)
	build(t, bundleImage+version(t)+suffix, "bundle.Dockerfile", ".")
}

func makePrevious(t *testing.T, version string, args ...string) {
	t.Helper()
	command(t, "make", append([]string{"--no-print-directory", "-C", previousTree, "VERSION=" + version, "IMG=" + registry + ":v" + version}, args...)...)
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
