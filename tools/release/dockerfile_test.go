package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestDockerfile(t *testing.T) {
	for name, row := range map[string]struct {
		dockerfile string
		config     v1.Config
		files      []string
		fails      string
	}{
		"arguments are expanded, and only where they are declared": {
			dockerfile: "FROM scratch\nARG TARGETARCH\nLABEL arch=${TARGETARCH} version=\"${VERSION}\"",
			config:     v1.Config{Labels: map[string]string{"arch": "amd64", "version": ""}},
		},
		"what a container runs": {
			dockerfile: "FROM scratch\nWORKDIR /\nUSER 65532:65532\nENTRYPOINT [\"/program\", \"run\"]",
			config:     v1.Config{WorkingDir: "/", User: "65532:65532", Entrypoint: []string{"/program", "run"}},
		},
		"a file is copied to a name":               {dockerfile: "FROM scratch\nCOPY bin/amd64/program /program", files: []string{"program*"}},
		"a file is copied into a folder":           {dockerfile: "FROM scratch\nCOPY bin/amd64/program /bin/", files: []string{"bin/program*"}},
		"a folder's contents are copied":           {dockerfile: "FROM scratch\nCOPY chart /charts", files: []string{"charts/Chart.yaml", "charts/templates/a.yaml"}},
		"what .dockerignore names is left out":     {dockerfile: "FROM scratch\nCOPY chart/ci /ci", fails: ".dockerignore leaves nothing of chart/ci"},
		"an image on another image is refused":     {dockerfile: "FROM debian", fails: "FROM scratch"},
		"an image of several stages is refused":    {dockerfile: "FROM scratch AS a\nFROM scratch", fails: "one stage"},
		"an instruction that runs is refused":      {dockerfile: "FROM scratch\nRUN true", fails: "Dockerfile:2: RUN true: a release's images have no such instruction"},
		"a shell's entrypoint is refused":          {dockerfile: "FROM scratch\nENTRYPOINT run", fails: "write it as a list"},
		"a copy from another image is refused":     {dockerfile: "FROM scratch\nCOPY --from=debian /etc /etc", fails: "no flag"},
		"a copy with another owner is refused":     {dockerfile: "FROM scratch\nCOPY --chown=1 chart /chart", fails: "no flag"},
		"a copy of what does not exist is refused": {dockerfile: "FROM scratch\nCOPY none /none", fails: "Dockerfile:2: COPY none /none: read files: stat none"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t, map[string]string{
				"Dockerfile": row.dockerfile, ".dockerignore": "*\n!bin/*/program\n!chart\nchart/ci\n",
				"bin/amd64/program": "ELF", "chart/Chart.yaml": "name: chart", "chart/templates/a.yaml": "a", "chart/ci/values.yaml": "b",
			})
			if err := os.Chmod(tree.path("bin/amd64/program"), 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := tree.read("Dockerfile", map[string]string{"TARGETARCH": "amd64", "VERSION": "1.2.3"})
			if row.fails != "" {
				if err == nil || !strings.Contains(err.Error(), row.fails) {
					t.Fatalf("want an error with %q, got %v", row.fails, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.config.Labels == nil {
				row.config.Labels = map[string]string{}
			}
			if !reflect.DeepEqual(got.config, row.config) {
				t.Errorf("want the configuration %+v, got %+v", row.config, got.config)
			}
			var files []string
			for _, l := range got.layers {
				for _, f := range l.files {
					if f.executable {
						f.name += "*"
					}
					files = append(files, f.name)
				}
			}
			if !reflect.DeepEqual(files, row.files) {
				t.Errorf("want the files %v, got %v", row.files, files)
			}
		})
	}
}

// newTree returns a tree of some files that is no repository.
func newTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	tree := &tree{dir: t.TempDir(), version: "1.2.3", image: "ghcr.io/kube8/kube8-operator", time: time.Unix(1700000000, 0).UTC()}
	for name, text := range files {
		path := tree.path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}
