package assets

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/test/cluster/internal/progress"
)

// Builder builds binaries that are missing.
type Builder struct {
	Module     string // folder of this program's module
	Kubernetes string // as KubernetesModule returns it
	Versions   Versions
	Progress   io.Writer // gets one line for each binary that is built
}

// NewBuilder returns a builder, given the folder of this program's module, and
// a minor version of Kubernetes as KubernetesModule takes it.
func NewBuilder(module, minor string, progress io.Writer) (*Builder, error) {
	kubernetes, err := KubernetesModule(module, minor)
	if err != nil {
		return nil, err
	}
	versions, err := ReadVersions(module, kubernetes)
	if err != nil {
		return nil, err
	}
	return &Builder{Module: module, Kubernetes: kubernetes, Versions: versions, Progress: progress}, nil
}

// Plan is what there is and what is missing of some binaries.
type Plan struct {
	Dir string // the one folder that has them all, once the missing ones are built

	builder *Builder
	missing []binary
}

// Plan looks for the named binaries in KUBEBUILDER_ASSETS, and if that does not
// have them all, in the cache.
func (b *Builder) Plan(names ...string) (Plan, error) {
	known := binaries(b.Versions, b.Kubernetes)
	for _, name := range names {
		if !slices.ContainsFunc(known, func(k binary) bool { return k.name == name }) {
			return Plan{}, fmt.Errorf("no binary is called %q, choose from: %s", name, strings.Join(Names(), " "))
		}
	}
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		lacking := missing(dir, names)
		if len(lacking) == 0 {
			dir, err := filepath.Abs(dir)
			return Plan{Dir: dir}, err
		}
		fmt.Fprintf(b.Progress, "KUBEBUILDER_ASSETS has no %s: using the cache\n", strings.Join(lacking, ", "))
	}
	dir, err := b.cache()
	if err != nil {
		return Plan{}, err
	}
	wanted := missing(dir, names)
	return Plan{Dir: dir, builder: b, missing: slices.DeleteFunc(known, func(k binary) bool { return !slices.Contains(wanted, k.name) })}, nil
}

// Ensure makes sure that the named binaries exist and returns the one folder
// that has them all: KUBEBUILDER_ASSETS if it does, else the cache.
func (b *Builder) Ensure(ctx context.Context, names ...string) (string, error) {
	plan, err := b.Plan(names...)
	if err != nil {
		return "", err
	}
	return plan.Dir, progress.Compile(b.Progress, plan.Programs(ctx))
}

// Programs are the binaries that are missing.
func (p Plan) Programs(ctx context.Context) []progress.Program {
	var out []progress.Program
	for _, k := range p.missing {
		out = append(out, progress.Program{
			Name: k.name + " " + k.version, Takes: takes[k.name], Build: func() error { return p.builder.build(ctx, k, p.Dir) },
		})
	}
	return out
}

// Download gets the modules that the missing binaries are built from. Building
// them does so as well: this is to be done while something else is compiled.
func (p Plan) Download(ctx context.Context) {
	packages := map[string][]string{}
	for _, k := range p.missing {
		packages[k.dir] = append(packages[k.dir], k.pkg)
	}
	for dir, names := range packages {
		// What fails here fails there, which says so.
		_ = compiler(ctx, filepath.Join(p.builder.Module, dir), append([]string{"list", "-deps"}, names...)...).Run()
	}
}

// cache returns the folder for binaries of these versions, which exists then.
func (b *Builder) cache() (string, error) {
	base := os.Getenv("KUBE8_CACHE_DIR")
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache folder: %w (set KUBE8_CACHE_DIR)", err)
		}
		base = filepath.Join(user, "kube8-operator")
	}
	dir, err := filepath.Abs(filepath.Join(base, b.Versions.key()))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w (set KUBE8_CACHE_DIR to another one)", err)
	}
	return dir, nil
}

// build builds one binary aside and renames it into place, so that what is in
// the cache is always whole.
func (b *Builder) build(ctx context.Context, k binary, dir string) error {
	aside, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	built := filepath.Join(aside, k.name)

	if err := run(ctx, compiler(ctx, filepath.Join(b.Module, k.dir),
		"build", "-trimpath", "-ldflags", k.ldflags, "-tags", k.tags, "-o", built, k.pkg)); err != nil {
		return fmt.Errorf("build %s: %w", k.name, err)
	}
	return os.Rename(built, filepath.Join(dir, k.name))
}

// missing returns the names that are not programs in the folder.
func missing(dir string, names []string) []string {
	var out []string
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			out = append(out, name)
		}
	}
	return out
}
