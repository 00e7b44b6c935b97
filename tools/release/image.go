package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// fips is the variant of the operator that has FIPS 140-3 mode on.
const fips = "-fips"

// dockerfiles are the release's images: what is added to the name of the operator's image and to its tag, and the Dockerfile.
var dockerfiles = []struct{ suffix, variant, dockerfile string }{
	{"", "", "Dockerfile"},
	{"", fips, "Dockerfile"},
	{"-bundle", "", "bundle.Dockerfile"},
	{"-catalog", "", "catalog.Dockerfile"},
}

// images are the release's images, each an OCI archive with all platforms, and how they are called once they are pushed.
func (t *tree) images(platforms []string) (names []string, archives []file, err error) {
	for _, d := range dockerfiles {
		name := t.image + d.suffix + ":v" + t.version + d.variant
		index, err := t.index(d.dockerfile, d.variant, platforms)
		if err != nil {
			return nil, nil, fmt.Errorf("image %s: %w", name, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return nil, nil, fmt.Errorf("image %s: %w", name, err)
		}
		archive, err := t.ociArchive(index, name)
		if err != nil {
			return nil, nil, fmt.Errorf("image %s: %w", name, err)
		}
		names = append(names, name+"@"+digest.String())
		archives = append(archives, file{name: path.Base(t.image) + d.suffix + d.variant + ".oci.tar", body: archive})
	}
	return names, archives, nil
}

// index is an image for all platforms.
func (t *tree) index(dockerfile, variant string, platforms []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return nil, fmt.Errorf("platform %s: %w", name, err)
		}
		r, err := t.read(dockerfile, map[string]string{"TARGETARCH": platform.Architecture, "VERSION": t.version, "VARIANT": variant})
		if err != nil {
			return nil, err
		}
		image, err := t.build(r, platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

// build makes the image of a recipe.
func (t *tree) build(r *recipe, platform *v1.Platform) (v1.Image, error) {
	created := v1.Time{Time: t.time}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
			Created: created, Config: r.config, RootFS: v1.RootFS{Type: "layers"},
		})
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	for _, l := range r.layers {
		archive, err := t.tar(l.files)
		if err != nil {
			return nil, err
		}
		content, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil },
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.instruction, err)
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: content, History: v1.History{Created: created, CreatedBy: l.instruction}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.instruction, err)
		}
	}
	return image, nil
}

// ociArchive returns an OCI layout with one image, as an archive that container tools read. containerd takes the image's
// name from there, the others its tag.
func (t *tree) ociArchive(index v1.ImageIndex, name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, fmt.Errorf("write the layout: %w", err)
	}
	_, tag, _ := strings.Cut(name, ":")
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": tag,
	})); err != nil {
		return nil, fmt.Errorf("write the layout: %w", err)
	}
	files, err := readFiles(dir, ".")
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].executable = false
	}
	return t.tar(files)
}

// binaryOf is where make builds a variant of the operator for a platform.
func binaryOf(platform, variant string) string {
	return "bin/" + strings.ReplaceAll(platform, "/", "-") + variant + "/kube8-operator"
}
