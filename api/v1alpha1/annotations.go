package v1alpha1

const (
	// CollectorLabel is on every object and pod that a Collector becomes, with the Collector's name as its value, and
	// on Secrets and ConfigMaps that Collectors refer to, with any value.
	CollectorLabel = "kube8.dev/collector"

	// PausedAnnotation pauses a Collector while its value is "true": its spec is not followed, and its objects are left
	// alone. A paused Collector can be deleted.
	PausedAnnotation = "kube8.dev/paused"
)
