package operator

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator"
	"github.com/kube8/kube8-operator/internal/helm"
)

const (
	// registryAnnotation of a chart is the default registry of its images.
	registryAnnotation = "kube8.dev/collector-registry"

	// namespaceAnnotation of a chart is the operator's namespace, which network policies let read metrics.
	namespaceAnnotation = "kube8.dev/operator-namespace"

	// namespaceFile is where Kubernetes tells a pod its namespace.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// registries are what spec.image.registry can be, too.
var registries = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*/?$`)

// LoadWatches reads the watches file and the charts that it names, step 2 of the data flow, and applies the options
// that decide what a Collector is rendered to.
func LoadWatches(opts Options) (loaded []watches.Watch, err error) {
	if registry := opts.CollectorRegistry; registry != "" && !registries.MatchString(registry) {
		return nil, fmt.Errorf("--collector-registry: %q is not an image registry, such as registry.example.com:5000/mirror", registry)
	}
	if opts.WatchesFile == "" {
		if loaded, err = loadEmbedded(); err != nil {
			return nil, fmt.Errorf("load the embedded watches: %w", err)
		}
	} else if loaded, err = loadFile(opts.WatchesFile); err != nil {
		return nil, fmt.Errorf("load watches from %q, see --watches-file: %w", opts.WatchesFile, err)
	}
	for _, watch := range loaded {
		// The chart's schema is for people who use the chart without the operator. It is derived from the CRD's schema,
		// which has checked the spec here.
		watch.Chart.Schema = nil
		if opts.RolloutCanary { // what is not in the spec is the chart's default, which has pods get the stamp
			defaults := map[string]any{"canary": map[string]any{}}
			maps.Copy(defaults, watch.Chart.Values)
			watch.Chart.Values = defaults
		}
		for annotation, value := range map[string]string{registryAnnotation: opts.CollectorRegistry, namespaceAnnotation: opts.Namespace} {
			if value == "" {
				continue
			}
			if watch.Chart.Metadata.Annotations == nil {
				watch.Chart.Metadata.Annotations = map[string]string{}
			}
			watch.Chart.Metadata.Annotations[annotation] = value
		}
	}
	return loaded, nil
}

// loadFile reads a watches file. Its charts are found from the file's folder, wherever the operator was started.
func loadFile(path string) ([]watches.Watch, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	var entries []watches.Watch
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("not a list of watches: %w", err)
	}
	for i, entry := range entries {
		if !filepath.IsAbs(entry.ChartPath) {
			entries[i].ChartPath = filepath.Join(filepath.Dir(path), entry.ChartPath)
		}
	}
	text, err = yaml.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("write chart paths: %w", err)
	}
	return watches.LoadReader(bytes.NewReader(text)) //nolint:wrapcheck // the caller names the file
}

// loadEmbedded reads the watches file that is in the binary, with the defaults that the library gives one on disk: the
// library takes charts from disk only. The overrideValues of that file are taken as they stand.
func loadEmbedded() ([]watches.Watch, error) {
	text, err := kube8.Files.ReadFile("watches.yaml")
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	var entries []watches.Watch
	if err := yaml.UnmarshalStrict(text, &entries); err != nil {
		return nil, fmt.Errorf("not a list of watches: %w", err)
	}
	for i := range entries {
		entry := &entries[i]
		if entry.Chart, err = helm.Load(kube8.Files, entry.ChartPath); err != nil {
			return nil, fmt.Errorf("chart %s: %w", entry.ChartPath, err)
		}
		entry.WatchDependentResources = cmp.Or(entry.WatchDependentResources, new(true))
		entry.Selector = cmp.Or(entry.Selector, &metav1.LabelSelector{})
	}
	return entries, nil
}
