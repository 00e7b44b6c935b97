//go:build e2e

package olm

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

const (
	registryNamespace = "kube8-olm-registry"
	registryHost      = "registry." + registryNamespace + ".svc:5000"
	registryDir       = "bin/registry"
)

// imagesV1 builds and loads what OLM v1 installs. It returns the image of its programs, that of a registry, and by their names there a
// catalog with the previous version, and one with this version as well: OLM v1 pulls catalogs and bundles itself, and not from the nodes.
func imagesV1(t *testing.T) (programs, registryImage, first, second string) {
	t.Helper()
	programs, registryImage = "kube8.dev/olmv1:v0"+suffix, "kube8.dev/registry:v0"+suffix
	build(t, programs, "test/olm/Dockerfile", prepare(t), "--target=olmv1")
	load(t, programs)
	for _, dir := range []string{registryDir, previousTree + "/catalog"} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	bundles(t)
	var catalogs []string
	for _, version := range []string{previous, version(t)} {
		makePrevious(t, version, "catalog", "BUNDLE_IMG="+publish(t, bundleImage+version+suffix, "bundle"))
		build(t, catalogImage+version+suffix, previousTree+"/catalog.Dockerfile", previousTree)
		catalogs = append(catalogs, publish(t, catalogImage+version+suffix, "catalog"))
	}
	command(t, "go", "build", "-ldflags=-s -w", "-o", registryDir+"/registry", "./test/olm/registry")
	build(t, registryImage, "test/olm/Dockerfile", registryDir, "--target=registry")
	load(t, registryImage)
	return programs, registryImage, catalogs[0], catalogs[1]
}

// descriptor is how a manifest names a blob, and a registry a manifest.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// publish puts an image into the registry's folder, and returns its name by digest there.
func publish(t *testing.T, image, repository string) string {
	t.Helper()
	files := untar(t, save(t, image))
	var list []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &list); err != nil || len(list) != 1 {
		t.Fatalf("the archive of %s has %q, %v", image, files["manifest.json"], err)
	}
	put := func(kind, mediaType string, content []byte) descriptor {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
		dir := filepath.Join(registryDir, "v2", repository, kind)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, digest), content, 0o644); err != nil {
			t.Fatal(err)
		}
		return descriptor{mediaType, digest, len(content)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest := map[string]any{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        put("blobs", "application/vnd.oci.image.config.v1+json", files[list[0].Config]),
	}
	var layers []descriptor
	for _, layer := range list[0].Layers {
		layers = append(layers, put("blobs", "application/vnd.oci.image.layer.v1.tar", files[layer]))
	}
	manifest["layers"] = layers
	content, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return registryHost + "/" + repository + "@" + put("manifests", manifestType, content).Digest
}

// untar reads the files of an archive.
func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}
