package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func TestTheNumberOfPodsIsComparedWithTheSpec(t *testing.T) {
	const stalled = "autoscaling.minReplicas is 2, but an autoscaler does nothing for a workload that was scaled to 0; scale it to 2"
	for name, row := range map[string]struct {
		spec   string
		wanted int32 // by the workload
		want   string
	}{
		"replicas, as many":                             {"{replicas: 3}", 3, ""},
		"replicas, fewer":                               {"{replicas: 3}", 0, "replicas is 3"},
		"replicas, more":                                {"{replicas: 3}", 4, "replicas is 3"},
		"no pods, as the spec says":                     {"{replicas: 0}", 0, ""},
		"nothing that says a number":                    {"{}", 0, ""},
		"an autoscaler, above its smallest number":      {"{replicas: 1, autoscaling: {enabled: true, minReplicas: 2}}", 5, ""},
		"an autoscaler, at its smallest number":         {"{autoscaling: {enabled: true, minReplicas: 2}}", 2, ""},
		"an autoscaler that has not begun":              {"{autoscaling: {enabled: true, minReplicas: 2}}", 1, "autoscaling.minReplicas is 2"},
		"an autoscaler that does nothing":               {"{mode: statefulset, autoscaling: {enabled: true, minReplicas: 2}}", 0, stalled},
		"an autoscaler with the default that has begun": {"{autoscaling: {enabled: true}}", 1, ""},
		"an autoscaler with the default that does nothing": {"{autoscaling: {enabled: true}}", 0,
			"autoscaling.minReplicas is 1, but an autoscaler does nothing for a workload that was scaled to 0; scale it to 1"},
		"an autoscaler that scales to 0":     {"{autoscaling: {enabled: true, minReplicas: 0}}", 0, ""},
		"one that may, and does not":         {"{autoscaling: {enabled: true, minReplicas: 0}}", 2, ""},
		"KEDA, which scales to 0 itself":     {"{autoscaling: {enabled: true, minReplicas: 2, keda: {triggers: []}}}", 0, ""},
		"an autoscaler of the user":          {"{replicas: 3, autoscaling: {external: true}}", 0, ""},
		"an autoscaler that is switched off": {"{replicas: 3, autoscaling: {enabled: false, minReplicas: 4}}", 3, ""},
		"a pod on each node":                 {"{mode: daemonset, replicas: 3}", 0, ""},
	} {
		text, err := yaml.YAMLToJSON([]byte("spec: " + row.spec))
		if err != nil {
			t.Fatal(err)
		}
		collector := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, &collector.Object); err != nil { // as a client reads it: whole numbers are int64
			t.Fatal(err)
		}
		if got := askedBy(collector).missedBy(row.wanted); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
