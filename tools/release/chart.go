package main

import (
	"fmt"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// chart is the chart's package. Helm's own packer would stamp it with the present time; what Helm loads, without what
// .helmignore names, and how a package is called is the same.
func (t *tree) chart() ([]file, error) {
	const folder = "helm-charts/collector"
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
	return []file{{name: loaded.Name() + "-" + loaded.Metadata.Version + ".tgz", body: body}}, nil
}
