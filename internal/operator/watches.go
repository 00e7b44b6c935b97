package operator

import (
	"fmt"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
)

// registryAnnotation of a chart is the default registry of its images.
const registryAnnotation = "kube8.dev/collector-registry"

// LoadWatches reads the watches file and the charts that it names, step 2 of the data flow, and applies the options
// that decide what a Collector is rendered to.
func LoadWatches(opts Options) ([]watches.Watch, error) {
	loaded, err := watches.Load(opts.WatchesFile)
	if err != nil {
		return nil, fmt.Errorf("load watches from %q, see --watches-file: %w", opts.WatchesFile, err)
	}
	for _, watch := range loaded {
		// The chart's schema is for those who use the chart without the operator: here the CRD's, from which it is
		// derived, has checked the spec.
		watch.Chart.Schema = nil
		if opts.CollectorRegistry != "" {
			if watch.Chart.Metadata.Annotations == nil {
				watch.Chart.Metadata.Annotations = map[string]string{}
			}
			watch.Chart.Metadata.Annotations[registryAnnotation] = opts.CollectorRegistry
		}
	}
	return loaded, nil
}
