package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/internal/render"
)

// Files renders the Collectors in files, in the .yaml, .yml and .json files of folders, and, for "-", in stdin, and writes
// the manifests to out. The error is a ProblemsError with the problems of all files. No manifest is written then, and
// with JSON the problems are.
func (r *Renderer) Files(ctx context.Context, paths []string, stdin io.Reader, out io.Writer) error {
	var all []*render.Rendered
	var problems ProblemsError
	for _, path := range paths {
		for _, file := range list(path) {
			rendered, refused := r.file(ctx, file, stdin)
			all = append(all, rendered...)
			problems = append(problems, refused...)
		}
	}
	if len(all)+len(problems) == 0 && !r.AllowNone {
		problems = ProblemsError{{
			File: strings.Join(paths, ", "), Message: "no Collector in it; it needs apiVersion kube8.dev/v1alpha1 and kind Collector",
		}}
	}
	if len(problems) > 0 {
		all = nil
	}
	if err := r.write(out, all, problems); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return problems.asError()
}

// list returns the files of a folder, by name, or the path itself.
func list(path string) (files []string) {
	entries, err := os.ReadDir(path)
	if err != nil || path == "-" {
		return []string{path} // who reads it says what is wrong
	}
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files
}

func (r *Renderer) file(ctx context.Context, path string, stdin io.Reader) ([]*render.Rendered, ProblemsError) {
	in, name := stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, problemsOf(err)
		}
		defer file.Close()
		in, name = file, path
	}
	rendered, err := r.Render(ctx, in)
	return rendered, problemsOf(err).about(name, "")
}

// write writes manifests, and problems only as JSON: in YAML they would be taken for manifests.
func (r *Renderer) write(out io.Writer, all []*render.Rendered, problems ProblemsError) error {
	var manifests strings.Builder
	items := []map[string]any{}
	for _, rendered := range all {
		manifests.WriteString(rendered.Manifest)
		for _, object := range rendered.Objects {
			items = append(items, object.Object)
		}
	}
	if !r.JSON {
		_, err := io.WriteString(out, manifests.String())
		return err //nolint:wrapcheck // the caller says what failed
	}
	answer := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(problems) > 0 {
		answer = map[string]any{"problems": problems}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answer) //nolint:wrapcheck // the caller says what failed
}
