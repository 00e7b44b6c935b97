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

// binary is a program that a cluster needs.
type binary struct {
	name    string
	pkg     string // what `go build` builds
	dir     string // folder, below this module, of the module that requires it
	version string
	ldflags string
	tags    string
}

// Names lists every binary, the one that takes longest to build first.
func Names() []string {
	var names []string
	for _, b := range binaries(Versions{}, "") {
		names = append(names, b.name)
	}
	return names
}

func binaries(v Versions, kubernetesModule string) []binary {
	const ldflags = "-s -w"
	// A binary that is built from a module knows its version only if told, and
	// clients ask an API server for it: Helm fails where it makes no sense.
	stamped := ldflags + " -X k8s.io/component-base/version.gitVersion=" + v.Kubernetes
	if major, minor, ok := majorMinor(v.Kubernetes); ok {
		stamped += " -X k8s.io/component-base/version.gitMajor=" + major +
			" -X k8s.io/component-base/version.gitMinor=" + minor
	}
	const (
		tools = "../../tools"
		// Without it, reading images needs C libraries.
		openpgp = "containers_image_openpgp"
	)
	return []binary{
		{"kube-apiserver", kubernetes + "/cmd/kube-apiserver", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-controller-manager", kubernetes + "/cmd/kube-controller-manager", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-scheduler", kubernetes + "/cmd/kube-scheduler", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kubelet", kubernetes + "/cmd/kubelet", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kubectl", kubernetes + "/cmd/kubectl", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-proxy", kubernetes + "/cmd/kube-proxy", kubernetesModule, v.Kubernetes, stamped, ""},
		{"etcd", etcd, ".", v.Etcd, ldflags, ""},
		{"kwok", kwok + "/cmd/kwok", "kwok", v.Kwok, ldflags, ""},
		{"coredns", ".", "coredns", v.CoreDNS, ldflags, ""},
		{"pause", "./pause", ".", v.Kubernetes, ldflags, ""},
		{"olm", olm + "/cmd/olm", "olm", v.OLM, ldflags, openpgp},
		{"catalog", olm + "/cmd/catalog", "olm", v.OLM, ldflags, openpgp},
		{"copy-content", olm + "/cmd/copy-content", "olm", v.OLM, ldflags, openpgp},
		{"cpb", olm + "/util/cpb", "olm", v.OLM, ldflags, openpgp},
		{"cp", "./cp", ".", v.OLM, ldflags, ""},
		{"grpc_health_probe", "github.com/grpc-ecosystem/grpc-health-probe", "olm", v.OLM, ldflags, openpgp},
		{"catalogd", olmV1 + "/cmd/catalogd", "olmv1", v.OLMv1, ldflags, openpgp},
		{"operator-controller", olmV1 + "/cmd/operator-controller", "olmv1", v.OLMv1, ldflags, openpgp},
		{"opm", opm + "/cmd/opm", tools, v.OPM, ldflags, openpgp},
		{"operator-sdk", operatorSDK + "/cmd/operator-sdk", tools, v.OperatorSDK, ldflags, openpgp},
		{"helm-operator", operatorSDK + "/cmd/helm-operator", "helm-operator", v.OperatorSDK, ldflags, openpgp},
		{"scorecard-test", operatorSDK + "/images/scorecard-test", tools, v.OperatorSDK, ldflags, openpgp},
	}
}

func majorMinor(version string) (major, minor string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

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
