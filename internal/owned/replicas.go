package owned

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keepReplicas has each workload keep its number of pods when target leaves it to an autoscaler: it takes the number
// out of original. Helm would otherwise remove what original has and target has not, the API server would set 1, and a
// busy collector would lose its pods for the moment in which the autoscaler comes to it.
func keepReplicas(original, target kube.ResourceList) {
	for _, info := range target {
		if _, sets := replicas(info.Object); sets {
			continue
		}
		if before := original.Get(info); before != nil {
			if obj, sets := replicas(before.Object); sets {
				unstructured.RemoveNestedField(obj.Object, "spec", "replicas")
			}
		}
	}
}

// replicas returns obj as what it is, and whether it sets spec.replicas.
func replicas(obj any) (*unstructured.Unstructured, bool) {
	parsed, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	_, sets, err := unstructured.NestedFieldNoCopy(parsed.Object, "spec", "replicas")
	return parsed, sets && err == nil
}
