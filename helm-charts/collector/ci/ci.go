// Package ci reads the chart's cases: example values, and the files that they configure a collector with.
package ci

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

const suffix = "-values.yaml"

// Cases returns the values in dir by the name of their case. Each file in the folder with a case's name becomes one of its
// collector.files. The file called collector.fileName, which is config.yaml by default, becomes its collector.configuration.
func Cases(dir string) (map[string]map[string]any, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return nil, fmt.Errorf("look for cases: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no *%s in %s", suffix, dir)
	}
	cases := map[string]map[string]any{}
	for _, path := range paths {
		values, err := chartutil.ReadValuesFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := addFiles(values, strings.TrimSuffix(path, suffix)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		cases[strings.TrimSuffix(filepath.Base(path), suffix)] = values
	}
	return cases, nil
}

func addFiles(values chartutil.Values, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return fmt.Errorf("look for its files: %w", err)
	}
	if len(paths) == 0 {
		return nil
	}
	collector, err := values.Table("collector")
	if err != nil {
		return fmt.Errorf("its files need a collector: %w", err)
	}
	fileName, ok := collector["fileName"]
	if !ok {
		fileName = "config.yaml"
	}
	files := map[string]any{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read one of its files: %w", err)
		}
		encoded := base64.StdEncoding.EncodeToString(content)
		if name := filepath.Base(path); name == fileName {
			collector["configuration"] = encoded
		} else {
			files[name] = encoded
		}
	}
	if len(files) > 0 {
		collector["files"] = files
	}
	return nil
}
