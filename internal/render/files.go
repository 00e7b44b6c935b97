package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Files renders the Collectors in a file, in the .yaml, .yml and .json files of a folder, or, for "-", in stdin, and
// writes the manifests to out. It writes nothing if a Collector cannot be rendered; the error then has a line for each
// problem, which starts with the file.
func (r *Renderer) Files(ctx context.Context, path string, stdin io.Reader, out io.Writer) error {
	files, err := list(path)
	if err != nil {
		return err
	}
	var manifests []byte
	var refused []error
	found := 0
	for _, file := range files {
		rendered, count, err := r.file(ctx, file, stdin)
		if err != nil {
			refused = append(refused, err)
		}
		manifests = append(manifests, rendered...)
		found += count
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	if found == 0 {
		return fmt.Errorf("%s: no Collector in it; it needs apiVersion kube8.dev/v1alpha1 and kind Collector", path)
	}
	if _, err := out.Write(manifests); err != nil {
		return fmt.Errorf("write manifests: %w", err)
	}
	return nil
}

func (r *Renderer) file(ctx context.Context, path string, stdin io.Reader) ([]byte, int, error) {
	in, label := stdin, "standard input"
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, 0, fmt.Errorf("open input, see --filename: %w", err)
		}
		defer opened.Close()
		in, label = opened, path
	}
	manifests, count, err := r.Render(ctx, in)
	return manifests, count, prefixLines(label, err)
}

// prefixLines puts a prefix, such as the file's name, in front of each of the errors that err joins.
func prefixLines(prefix string, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", prefix, err)
	}
	var errs []error
	for _, err := range joined.Unwrap() {
		errs = append(errs, prefixLines(prefix, err))
	}
	return errors.Join(errs...)
}

// list returns path itself, or the files of a folder, by name.
func list(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open input, see --filename: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}
