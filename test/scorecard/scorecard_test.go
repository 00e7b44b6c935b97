package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestUntar(t *testing.T) {
	for name, test := range map[string]struct {
		entry string
		fails string
	}{
		"a file in a folder":                       {entry: "manifests/crd.yaml"},
		"nothing is written outside of the folder": {entry: "../crd.yaml", fails: "path escapes from parent"},
	} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			zipped := gzip.NewWriter(&archive)
			out := tar.NewWriter(zipped)
			if err := out.WriteHeader(&tar.Header{Name: test.entry, Size: 4, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write([]byte("kind")); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			if err := zipped.Close(); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path, into := filepath.Join(dir, "bundle.tar.gz"), filepath.Join(dir, "bundle")
			if err := os.Mkdir(into, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, archive.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			err := untar(path, into)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("got error %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(into, test.entry)); err != nil || string(got) != "kind" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	const status = "{conditions: [], deployedRelease: {name: gateway, revision: 1}}"
	for name, test := range map[string]struct {
		paths string
		fails string
	}{
		"each part of the status has a descriptor": {paths: "[{path: conditions}, {path: deployedRelease}, {path: deployedRelease.name}]"},
		"a part without a descriptor": {
			paths: "[{path: conditions}, {path: deployedRelease.name}]", fails: "no descriptor for: deployedRelease",
		},
		"a descriptor of bases, which is not given": {paths: "[{path: conditions}, {path: deployedRelease}, {path: bases}]"},
		"a descriptor of what is not there": {
			paths: "[{path: conditions}, {path: deployedRelease}, {path: version}]", fails: "the status has no version, which has a descriptor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var bundle csv
			var have map[string]any
			text := "{spec: {customresourcedefinitions: {owned: [{statusDescriptors: " + test.paths + "}]}}}"
			if err := yaml.Unmarshal([]byte(text), &bundle); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(status), &have); err != nil {
				t.Fatal(err)
			}
			err := compare(have, bundle)
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || err.Error() != test.fails) {
				t.Errorf("got error %v, want %q", err, test.fails)
			}
		})
	}
}

func TestTheBundleHasOneExample(t *testing.T) {
	r := &trial{}
	if err := r.readBundle("../../bundle"); err != nil {
		t.Fatal(err)
	}
	if r.example.GetKind() != "Collector" || r.example.GetNamespace() != "" {
		t.Errorf("got %s in namespace %q, want a Collector in none", r.example.GetKind(), r.example.GetNamespace())
	}
	if !r.isRelated(r.csv.Metadata.Annotations["containerImage"]) {
		t.Error("the operator's image is not among the related ones")
	}
}
