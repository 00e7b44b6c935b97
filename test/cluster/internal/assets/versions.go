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
	opm         = "github.com/operator-framework/operator-registry"
	operatorSDK = "github.com/operator-framework/operator-sdk"
)

// Versions of the modules that the binaries are built from, such as "v1.35.4".
type Versions struct {
	Kubernetes, Etcd, Kwok, CoreDNS, OLM, OPM, OperatorSDK string
}

// ReadVersions reads the versions from the go.mod files of this program, given
// the folder of its module.
func ReadVersions(module string) (Versions, error) {
	var v Versions
	for _, file := range []struct {
		path string
		want map[string]*string
	}{
		{filepath.Join(module, "go.mod"), map[string]*string{kubernetes: &v.Kubernetes, etcd: &v.Etcd}},
		{filepath.Join(module, "kwok", "go.mod"), map[string]*string{kwok: &v.Kwok}},
		{filepath.Join(module, "coredns", "go.mod"), map[string]*string{coredns: &v.CoreDNS}},
		{filepath.Join(module, "olm", "go.mod"), map[string]*string{olm: &v.OLM}},
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
		"olm-" + v.OLM, "opm-" + v.OPM, "operator-sdk-" + v.OperatorSDK,
		runtime.GOOS, runtime.GOARCH,
	}, "_")
}
