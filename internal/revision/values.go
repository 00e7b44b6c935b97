package revision

import (
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// withNulls returns the values with null for the fields that are null in the spec: the stock reconciler has taken them out with
// the chart's defaults, and rendering would put the defaults back.
func withNulls(values map[string]any, collector *unstructured.Unstructured) map[string]any {
	spec, _ := collector.Object["spec"].(map[string]any)
	for field, value := range spec {
		if value == nil {
			values[field] = nil
		}
	}
	return values
}

// withCopy returns the values with a configuration of the user's Secret in place of the reference to it, unless the Collector wants
// no copy.
func withCopy(values map[string]any, referenced postrender.Referenced) map[string]any {
	collector, _ := values["collector"].(map[string]any)
	reference, _ := collector["configurationSecret"].(map[string]any)
	if wanted, isSet := reference["copy"].(bool); len(referenced.Content) == 0 || isSet && !wanted {
		return values
	}
	collector, values = maps.Clone(collector), maps.Clone(values)
	delete(collector, "configurationSecret")
	collector["configuration"] = base64.StdEncoding.EncodeToString(referenced.Content)
	values["collector"] = collector
	return values
}

// versionOf returns what the image of a spec is chosen by.
func versionOf(spec map[string]any) string {
	for _, field := range []string{"digest", "tag"} {
		if found, _, _ := unstructured.NestedString(spec, "image", field); found != "" {
			return found
		}
	}
	version, _, _ := unstructured.NestedString(spec, "collector", "version")
	return version
}
