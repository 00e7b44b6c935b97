package once

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const service = `
apiVersion: v1
kind: Service
metadata: {name: gateway, namespace: acme}
spec: {type: ClusterIP}
`

func build(t *testing.T, manifest string) kube.ResourceList {
	t.Helper()
	resources, err := newKubeClient().build([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

func TestAnUpdateIsOnlyOfWhatChanges(t *testing.T) {
	nodePort := strings.ReplaceAll(service, "ClusterIP", "NodePort")
	tests := map[string]struct {
		before, after, cached string
		want                  int
	}{
		"an object that stays as it is":           {before: service, after: service, cached: service},
		"an object that changes":                  {before: service, after: nodePort, cached: service, want: 1},
		"an object that somebody has changed":     {before: service, after: service, cached: nodePort, want: 1},
		"an object that changes, as somebody did": {before: service, after: nodePort, cached: nodePort, want: 1},
		"an object that the cache does not have":  {before: service, after: service, want: 1},
		"an object that the release did not have": {after: service, cached: service, want: 1},
		"an object that has left the release":     {before: service, cached: service},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := build(t, test.before), build(t, test.after)
			for _, info := range after { // what Helm and the decorators note on it
				object := info.Object.(*unstructured.Unstructured)
				object.SetUID("u")
				object.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "gateway"})
				object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			}
			var cached []client.Object
			for _, info := range build(t, test.cached) {
				object := info.Object.(*unstructured.Unstructured)
				object.SetUID("u")
				object.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "gateway", "somebody": "s"})
				object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
				cached = append(cached, object)
			}
			c := newKubeClient()
			c.ctx, c.cached = t.Context(), fake.NewClientBuilder().WithObjects(cached...).Build()
			fewer, changed := c.changed(before, after)
			if len(changed) != test.want {
				t.Errorf("%d objects are updated, want %d", len(changed), test.want)
			}
			if kept := len(before) - len(fewer); kept != len(after)-len(changed) {
				t.Errorf("%d objects are kept from being deleted, %d from being updated", kept, len(after)-len(changed))
			}
		})
	}
}
