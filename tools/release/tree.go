package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// versionFile is the one place that says which version a tree is, and how its image is called.
const versionFile = "config/manager/kustomization.yaml"

// tree is a commit that is checked out.
type tree struct {
	dir     string
	version string    // such as 1.2.3
	image   string    // the operator's, without a tag
	time    time.Time // of the commit; everything in the release bears it
}

// open returns the tree in a folder. It refuses one that differs from its commit, or that is another version.
func open(dir, version string) (*tree, error) {
	t := &tree{dir: dir, version: version}
	changes, err := t.git("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("the tree differs from its commit, so this release could not be made again: commit or remove\n%s", changes)
	}
	stamp, err := t.git("show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the commit's time: %w", err)
	}
	t.time = time.Unix(seconds, 0).UTC()
	return t, t.readVersion()
}

// readVersion reads the image's name, and checks the version.
func (t *tree) readVersion() error {
	text, err := os.ReadFile(t.path(versionFile))
	if err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	var kustomization struct {
		Images []struct{ Name, NewTag string }
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		return fmt.Errorf("%s: %w", versionFile, err)
	}
	if len(kustomization.Images) != 1 {
		return fmt.Errorf("%s: images must name the operator's image, and no other", versionFile)
	}
	image := kustomization.Images[0]
	if image.NewTag != "v"+t.version {
		return fmt.Errorf("%s says that this tree is %s, not v%s: release that version, or change newTag there, run make catalog, and commit",
			versionFile, image.NewTag, t.version)
	}
	t.image = image.Name
	return nil
}

func (t *tree) path(name string) string { return filepath.Join(t.dir, name) }

// git runs git in the tree, and returns what it printed.
func (t *tree) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", t.dir}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, failed.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
