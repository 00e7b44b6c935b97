package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
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

// tar returns an archive of files and, before each, the folders that lead to it. It belongs to root.
func (t *tree) tar(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	seen := map[string]bool{}
	for _, f := range sorted(files) {
		parts := strings.Split(f.name, "/")
		for i := 1; i < len(parts); i++ {
			folder := strings.Join(parts[:i], "/") + "/"
			if seen[folder] {
				continue
			}
			seen[folder] = true
			if err := w.WriteHeader(header(tar.TypeDir, folder, 0o755, 0, t.time)); err != nil {
				return nil, fmt.Errorf("%s: %w", folder, err)
			}
		}
		mode := int64(0o644)
		if f.executable {
			mode = 0o755
		}
		if err := w.WriteHeader(header(tar.TypeReg, f.name, mode, len(f.body), t.time)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	return out.Bytes(), nil
}

func header(kind byte, name string, mode int64, size int, modified time.Time) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: int64(size), ModTime: modified, Format: tar.FormatUSTAR}
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
	if _, err := w.Write(archive); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// zip returns a compressed archive of files, for Windows.
func (t *tree) zip(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range sorted(files) {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: t.time}
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := entry.Write(f.body); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	return out.Bytes(), nil
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}
