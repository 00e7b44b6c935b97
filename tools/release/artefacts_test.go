//go:build e2e

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// checkImages reads each archive as OCI tools do, and runs the operator of this machine's platform.
func checkImages(t *testing.T, dist, version string) {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dist, "images.txt"))
	if err != nil {
		t.Fatal(err)
	}
	images := strings.Fields(string(list))
	if len(images) != len(dockerfiles) {
		t.Fatalf("want %d images, got %v", len(dockerfiles), images)
	}
	for i, image := range images {
		tag, digest, _ := strings.Cut(image, "@")
		dir := t.TempDir()
		unpack(t, readFile(t, filepath.Join(dist, "kube8-operator"+dockerfiles[i].suffix+dockerfiles[i].variant+".oci.tar")), dir)
		root, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := root.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 {
			t.Fatalf("%s: want one image, got %+v, %v", image, manifest, err)
		}
		entry := manifest.Manifests[0]
		if entry.Digest.String() != digest || entry.Annotations["io.containerd.image.name"] != tag {
			t.Errorf("images.txt says %s, and the archive %s %v", image, entry.Digest, entry.Annotations)
		}
		index, err := root.ImageIndex(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", image, err)
		}
		if dockerfiles[i].suffix == "" {
			runOperator(t, index, version, dockerfiles[i].variant)
		}
	}
}

// runOperator checks the image of a variant of the operator for each platform, and runs the one for this machine's.
func runOperator(t *testing.T, index v1.ImageIndex, version, variant string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	platforms := map[string]bool{}
	for _, entry := range manifest.Manifests {
		platforms[entry.Platform.String()] = true
		image, err := index.Image(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%s: it is configured as %+v", entry.Platform, config.Config)
		}
		dir := t.TempDir()
		content, err := io.ReadAll(mutate.Extract(image))
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, content, dir)
		program := filepath.Join(dir, config.Config.Entrypoint[0])
		checkCryptography(t, program, variant)
		if entry.Platform.Architecture != runtime.GOARCH {
			continue
		}
		out := command(t, program, "version")
		if !strings.HasPrefix(out, "kube8-operator v"+version+" ") || strings.Contains(out, ", FIPS 140-3 module v1.0.0") != (variant == fips) {
			t.Errorf("the operator%s says %q", variant, out)
		}
	}
	if len(platforms) != 2 {
		t.Errorf("want two platforms, got %v", platforms)
	}
}

// checkCryptography reads in a program whether it was built for FIPS 140-3 mode, which is then on if GODEBUG does not say otherwise.
func checkCryptography(t *testing.T, program, variant string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	isOn := slices.Contains(strings.Split(settings["DefaultGODEBUG"], ","), "fips140=on")
	if (variant == fips) != isOn || (variant == fips) != strings.HasPrefix(settings["GOFIPS140"], "v1.0.0-") {
		t.Errorf("the operator%s for %s was built with %v", variant, settings["GOARCH"], settings)
	}
}

// checkManifests compares them with what `make deploy` applies, as the integration and end-to-end tests do.
func checkManifests(t *testing.T, dir, version string) {
	t.Helper()
	image := "image: ghcr.io/kube8/kube8-operator:v" + version + "\n"
	crd := "kind: CustomResourceDefinition\n"
	for name, want := range map[string]map[string]int{
		"install.yaml":            {image: 1, crd: 1},
		"install-namespaced.yaml": {image: 1, crd: 0, "kind: ClusterRole": 0},
		"crd.yaml":                {image: 0, crd: 1},
	} {
		text := string(readFile(t, filepath.Join(dir, "dist", name)))
		if built := command(t, "go", "tool", "-modfile=../go.mod", "kustomize", "build", filepath.Join(dir, installs[name])); text != built {
			t.Errorf("%s is not what kustomize builds of %s", name, installs[name])
		}
		for part, count := range want {
			if got := strings.Count(text, part); got != count {
				t.Errorf("%s has %q %d times, want %d", name, strings.TrimSpace(part), got, count)
			}
		}
	}
}

func checkFolders(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"bundle", "catalog"} {
		parent := t.TempDir()
		unpack(t, decompress(t, filepath.Join(dir, "dist", name+".tar.gz")), parent)
		want, wanted := readFiles(dir, name)
		got, read := readFiles(parent, name)
		if err := errors.Join(wanted, read); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s.tar.gz is not the folder, %v", name, err)
		}
	}
}

// checkCharts loads the packages as Helm does, and renders them.
func checkCharts(t *testing.T, dir, version string) {
	t.Helper()
	minimal, err := chartutil.ReadValuesFile(filepath.Join(dir, "helm-charts/collector/ci/minimal-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkChart(t, filepath.Join(dir, "dist", "collector-*.tgz"), minimal, "collector/templates/deployment.yaml", "kind: Deployment")
	image := "image: ghcr.io/kube8/kube8-operator:v" + version
	checkChart(t, filepath.Join(dir, "dist", "kube8-operator-*.tgz"), nil, "kube8-operator/templates/operator.yaml", image)
}

func checkChart(t *testing.T, pattern string, values chartutil.Values, template, want string) {
	t.Helper()
	packages, err := filepath.Glob(pattern)
	if err != nil || len(packages) != 1 {
		t.Fatalf("the chart %s: found %v, %v", pattern, packages, err)
	}
	chart, err := loader.Load(packages[0])
	if err != nil {
		t.Fatal(err)
	}
	values, err = chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "gateway", Namespace: "tenant-acme"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil || !strings.Contains(rendered[template], want) {
		t.Errorf("the chart %s renders %v, %v", pattern, rendered, err)
	}
}

// checkSBOMs compares them with what Go says of the binaries.
func checkSBOMs(t *testing.T, dir string) {
	t.Helper()
	for _, platform := range []string{"linux-amd64", "linux-arm64", "linux-amd64-fips", "linux-arm64-fips"} {
		var bom cyclonedx.BOM
		file := bytes.NewReader(readFile(t, filepath.Join(dir, "dist", "kube8-operator-"+platform+".cdx.json")))
		if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		versions := map[string]string{}
		for _, component := range *bom.Components {
			versions[component.Name] = component.Version
		}
		info, err := buildinfo.ReadFile(filepath.Join(dir, "bin", platform, "kube8-operator"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"std": info.GoVersion}
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			want[module.Path] = module.Version
		}
		if !reflect.DeepEqual(versions, want) {
			t.Errorf("%s: the SBOM names %v, the binary %v", platform, versions, want)
		}
	}
}

// checkImagesVEX compares the document with the images and, by the statements' rules, with the binaries that are in them.
func checkImagesVEX(t *testing.T, dir, version string) {
	t.Helper()
	text := readFile(t, filepath.Join(dir, "dist", "kube8-operator.openvex.json"))
	seconds, err := strconv.ParseInt(strings.TrimSpace(command(t, "git", "-C", dir, "show", "--no-patch", "--format=%ct")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkVEX(text, version, time.Unix(seconds, 0), 2); err != nil {
		t.Error(err)
	}
	for _, image := range strings.Fields(string(readFile(t, filepath.Join(dir, "dist", "images.txt"))))[:2] {
		_, digest, _ := strings.Cut(image, "@sha256:")
		if product := "pkg:oci/kube8-operator@sha256%3A" + digest + "?"; !strings.Contains(string(text), product) {
			t.Errorf("it is not about %s", image)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func decompress(t *testing.T, path string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func unpack(t *testing.T, archive []byte, dir string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(r)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, header.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}
