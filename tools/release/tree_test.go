package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestATreeIsReleasedOnlyAsItWasCommitted(t *testing.T) {
	for name, row := range map[string]struct {
		version string
		change  func(*testing.T, *tree)
		fails   string
	}{
		"a commit of this version": {version: "1.2.3"},
		"a changed file is refused": {version: "1.2.3", fails: "the tree differs from its commit", change: func(t *testing.T, tree *tree) {
			t.Helper()
			replace(t, tree, "README.md", "changed")
		}},
		"a file that git does not know is refused": {version: "1.2.3", fails: "?? new.txt", change: func(t *testing.T, tree *tree) {
			t.Helper()
			replace(t, tree, "new.txt", "new")
		}},
		"what git ignores does not matter": {version: "1.2.3", change: func(t *testing.T, tree *tree) {
			t.Helper()
			replace(t, tree, "dist", "old")
		}},
		"another version is refused":         {version: "1.2.4", fails: "config/manager/kustomization.yaml says that this tree is v1.2.3, not v1.2.4"},
		"a version with a letter is refused": {version: "v1.2.3", fails: "this tree is v1.2.3, not vv1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t, map[string]string{
				"README.md": "text", ".gitignore": "/dist\n", versionFile: "images:\n- name: ghcr.io/kube8/kube8-operator\n  newTag: v1.2.3\n",
			})
			git(t, tree.dir, "init", "--quiet")
			git(t, tree.dir, "add", ".")
			git(t, tree.dir, "commit", "--quiet", "--message=first", "--date=2026-01-02T03:04:05Z")
			if row.change != nil {
				row.change(t, tree)
			}
			got, err := open(tree.dir, row.version)
			switch {
			case row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)):
				t.Errorf("want an error with %q, got %v", row.fails, err)
			case row.fails == "" && err != nil:
				t.Error(err)
			case row.fails == "" && got.time.Format("2006-01-02") != "2026-01-03":
				t.Errorf("want the time of the commit, got %s", got.time)
			}
		})
	}
}

func replace(t *testing.T, tree *tree, name, text string) {
	t.Helper()
	if err := os.WriteFile(tree.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// git runs git as a made-up author, without the configuration of this machine.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-03T03:04:05Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
