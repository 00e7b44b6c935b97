package main

import (
	"fmt"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// charts are the packages of the charts: of a collector, and of the operator. Helm's own packer would stamp them with the present time;
// what Helm loads, without what .helmignore names, and how a package is called is the same.
func (t *tree) charts() (packages []file, err error) {
	for _, folder := range []string{"helm-charts/collector", "helm-charts/kube8-operator"} {
		loaded, err := loader.LoadDir(t.path(folder))
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", folder, err)
		}
		var files []file
		for _, f := range loaded.Raw {
			files = append(files, file{name: path.Join(loaded.Name(), f.Name), body: f.Data})
		}
		body, err := t.tarGz(files)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", folder, err)
		}
		packages = append(packages, file{name: loaded.Name() + "-" + loaded.Metadata.Version + ".tgz", body: body})
	}
	return packages, nil
}
