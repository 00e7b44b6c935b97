// Package assets builds the binaries of a Kubernetes cluster from their Go
// modules and keeps them in a cache. Which versions is said in one place: the
// go.mod files next to this program.
package assets

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
)

// Modules that the binaries are built from.
const (
	kubernetes  = "k8s.io/kubernetes"
	etcd        = "go.etcd.io/etcd/server/v3"
	kwok        = "sigs.k8s.io/kwok"
	coredns     = "github.com/coredns/coredns"
	olm         = "github.com/operator-framework/operator-lifecycle-manager"
	olmV1       = "github.com/operator-framework/operator-controller"
	opm         = "github.com/operator-framework/operator-registry"
	operatorSDK = "github.com/operator-framework/operator-sdk"
)

// Versions of the modules that the binaries are built from, such as "v1.35.4".
type Versions struct {
	Kubernetes, Etcd, Kwok, CoreDNS, OLM, OLMv1, OPM, OperatorSDK string
}

// KubernetesModule returns the folder, below the folder of this program's
// module, of the module that requires a minor version of Kubernetes, such as
// "1.34". An empty minor version stands for the newest one, which this
// program's module requires.
func KubernetesModule(module, minor string) (string, error) {
	newest := Versions{}
	content, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err == nil {
		err = requirements("go.mod", content, map[string]*string{kubernetes: &newest.Kubernetes})
	}
	if err != nil {
		return "", fmt.Errorf("read versions: %w", err)
	}
	if minor == "" || strings.HasPrefix(newest.Kubernetes, "v"+minor+".") {
		return ".", nil
	}
	earlier, err := filepath.Glob(filepath.Join(module, "kubernetes", "*", "go.mod"))
	if err != nil {
		return "", err
	}
	var known []string
	for _, file := range earlier {
		name := filepath.Base(filepath.Dir(file))
		if name == minor {
			return filepath.Join("kubernetes", name), nil
		}
		known = append(known, name)
	}
	return "", fmt.Errorf("no control plane of Kubernetes %q can be built; set KUBERNETES to one of %s, or leave it empty for %s",
		minor, strings.Join(known, " "), newest.Kubernetes)
}

// ReadVersions reads the versions from the go.mod files of this program, given
// the folder of its module, and what KubernetesModule returns.
func ReadVersions(module, kubernetesModule string) (Versions, error) {
	var v Versions
	for _, file := range []struct {
		path string
		want map[string]*string
	}{
		{filepath.Join(module, "go.mod"), map[string]*string{etcd: &v.Etcd}},
		{filepath.Join(module, kubernetesModule, "go.mod"), map[string]*string{kubernetes: &v.Kubernetes}},
		{filepath.Join(module, "kwok", "go.mod"), map[string]*string{kwok: &v.Kwok}},
		{filepath.Join(module, "coredns", "go.mod"), map[string]*string{coredns: &v.CoreDNS}},
		{filepath.Join(module, "olm", "go.mod"), map[string]*string{olm: &v.OLM}},
		{filepath.Join(module, "olmv1", "go.mod"), map[string]*string{olmV1: &v.OLMv1}},
		{filepath.Join(module, "..", "..", "tools", "go.mod"), map[string]*string{opm: &v.OPM, operatorSDK: &v.OperatorSDK}},
	} {
		content, err := os.ReadFile(file.path)
		if err != nil {
			return Versions{}, fmt.Errorf("read versions: %w", err)
		}
		if err := requirements(file.path, content, file.want); err != nil {
			return Versions{}, err
		}
	}
	return v, nil
}

// requirements sets, for each wanted module, the version that the go.mod file
// requires.
func requirements(path string, content []byte, want map[string]*string) error {
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for _, r := range file.Require {
		if version, ok := want[r.Mod.Path]; ok {
			*version = r.Mod.Version
		}
	}
	for module, version := range want {
		if *version == "" {
			return fmt.Errorf("read versions: %s does not require %s", path, module)
		}
	}
	return nil
}

// key names the folder of the cache that holds the binaries of these versions.
func (v Versions) key() string {
	return strings.Join([]string{
		"kubernetes-" + v.Kubernetes, "etcd-" + v.Etcd, "kwok-" + v.Kwok, "coredns-" + v.CoreDNS,
		"olm-" + v.OLM, "olmv1-" + v.OLMv1, "opm-" + v.OPM, "operator-sdk-" + v.OperatorSDK,
		runtime.GOOS, runtime.GOARCH,
	}, "_")
}
