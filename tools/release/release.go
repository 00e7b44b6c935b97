package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// release writes the release of a tree to the folder dist, and replaces what was in there.
func release(dir, dist, version string, platforms, cliPlatforms []string) error {
	t, err := open(dir, version)
	if err != nil {
		return err
	}
	notes, err := t.notes()
	if err != nil {
		return err
	}
	images, files, err := t.images(platforms)
	if err != nil {
		return err
	}
	for _, part := range []func() ([]file, error){
		t.manifests, t.folders, t.charts,
		func() ([]file, error) { return t.sboms(platforms) },
		func() ([]file, error) { return t.vex(images, platforms[0]) },
		func() ([]file, error) { return t.commandLines(cliPlatforms) },
	} {
		more, err := part()
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	list := strings.Join(images, "\n") + "\n"
	files = append(files,
		file{name: "images.txt", body: []byte(list)},
		file{name: "notes.md", body: []byte(notes + "\n### Images\n\n```\n" + list + "```\n")},
	)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return write(dist, append(files, checksums(files)))
}

// installs are the files that install the operator with kubectl, each with the folder that it is made of.
var installs = map[string]string{
	"install.yaml":            "config/default",
	"install-namespaced.yaml": "config/namespaced", // has no CRD: that takes other rights
	"crd.yaml":                "config/crd",
}

// manifests are the installs.
func (t *tree) manifests() (files []file, err error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as the command does: a namespace comes before what is in it
	for name, folder := range installs {
		objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), t.path(folder))
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", folder, err)
		}
		text, err := objects.AsYaml()
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", folder, err)
		}
		files = append(files, file{name: name, body: text})
	}
	return files, nil
}

// folders are what OLM reads, as archives: for those who keep a catalog of their own.
func (t *tree) folders() (archives []file, err error) {
	for _, folder := range []string{"bundle", "catalog"} {
		files, err := readFiles(t.dir, folder)
		if err != nil {
			return nil, err
		}
		body, err := t.tarGz(files)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", folder, err)
		}
		archives = append(archives, file{name: folder + ".tar.gz", body: body})
	}
	return archives, nil
}

// checksums is a file that `sha256sum --check` reads.
func checksums(files []file) file {
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(f.body), f.name)
	}
	return file{name: "checksums.txt", body: []byte(text.String())}
}

func write(dist string, files []file) error {
	if err := errors.Join(os.RemoveAll(dist), os.MkdirAll(dist, 0o755)); err != nil {
		return fmt.Errorf("empty the folder %s: %w", dist, err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dist, f.name), f.body, 0o644); err != nil {
			return fmt.Errorf("write the release: %w", err)
		}
	}
	return nil
}
