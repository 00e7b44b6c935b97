package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing/fstest"
)

// file is a file of the release, or in one of its archives.
type file struct {
	name       string // with slashes, relative
	executable bool   // the one permission that git keeps too
	body       []byte
}

// readFiles reads a folder in dir and all in it, or a single file. A name that the files have starts in dir.
func readFiles(dir, name string) (files []file, err error) {
	tree := os.DirFS(dir)
	err = fs.WalkDir(tree, path.Clean(name), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
		body, err := fs.ReadFile(tree, name)
		files = append(files, file{name: name, executable: info.Mode().Perm()&0o100 != 0, body: body})
		return err //nolint:wrapcheck // it names the file
	})
	if err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	return files, nil
}

// normal has files, and the folders that lead to them, with the commit's time and without an owner.
func (t *tree) normal(files []file) fs.FS {
	all := fstest.MapFS{}
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.executable {
			mode = 0o755
		}
		all[f.name] = &fstest.MapFile{Data: f.body, Mode: mode, ModTime: t.time}
		for folder := path.Dir(f.name); folder != "."; folder = path.Dir(folder) {
			all[folder] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, ModTime: t.time}
		}
	}
	return all
}

// tar returns an archive of files, which belongs to root.
func (t *tree) tar(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(w.AddFS(t.normal(files)), w.Close()); err != nil {
		return nil, fmt.Errorf("write an archive: %w", err)
	}
	return out.Bytes(), nil
}

// tarGz returns an archive of files, compressed. Its header has no name and no time.
func (t *tree) tarGz(files []file) ([]byte, error) {
	archive, err := t.tar(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	_, err = w.Write(archive)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// zip returns a compressed archive of files, for Windows.
func (t *tree) zip(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := errors.Join(w.AddFS(t.normal(files)), w.Close()); err != nil {
		return nil, fmt.Errorf("write an archive: %w", err)
	}
	return out.Bytes(), nil
}
