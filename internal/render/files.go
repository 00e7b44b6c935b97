package render

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files renders the Collectors in files, in the .yaml, .yml and .json files of folders, and, for "-", in stdin, and writes
// the manifests to out. The error is a RefusedError with the problems of all files. No manifest is written then, and
// with JSON the problems are.
func (r *Renderer) Files(ctx context.Context, paths []string, stdin io.Reader, out io.Writer) error {
	manifests, err := r.files(ctx, paths, stdin)
	if written := r.write(out, manifests, err); written != nil {
		return written
	}
	return err
}

func (r *Renderer) files(ctx context.Context, paths []string, stdin io.Reader) ([]byte, error) {
	var manifests []byte
	var problems RefusedError
	found := 0
	for _, path := range paths {
		files, err := list(path)
		if err != nil {
			problems = append(problems, problemsOf(err)...)
		}
		for _, file := range files {
			rendered, count, refused := r.file(ctx, file, stdin)
			problems = append(problems, refused...)
			manifests = append(manifests, rendered...)
			found += count
		}
	}
	if found == 0 && len(problems) == 0 && !r.AllowNone {
		problems = RefusedError{{
			File: strings.Join(paths, ", "), Message: "no Collector in it; it needs apiVersion kube8.dev/v1alpha1 and kind Collector",
		}}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return manifests, nil
}

func (r *Renderer) file(ctx context.Context, path string, stdin io.Reader) (manifests []byte, count int, problems RefusedError) {
	in, label := stdin, "standard input"
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, 0, problemsOf(err)
		}
		defer opened.Close()
		in, label = opened, path
	}
	manifests, count, err := r.Render(ctx, in)
	if err != nil {
		return nil, count, problemsOf(err).about(label, "")
	}
	return manifests, count, nil
}

// list returns path itself, or the files of a folder, by name.
func list(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the folder
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}
