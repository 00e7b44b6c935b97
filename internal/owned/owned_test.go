package owned_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/owned"
)

// newCollector returns the Collector whose objects they are or are not.
func newCollector() *unstructured.Unstructured {
	collector := &unstructured.Unstructured{}
	collector.SetName("gateway")
	collector.SetNamespace("tenant")
	collector.SetUID("ours")
	collector.SetAPIVersion("kube8.dev/v1alpha1")
	collector.SetKind("Collector")
	return collector
}

func TestVerify(t *testing.T) {
	collector := newCollector()
	tests := map[string]struct {
		metadata string
		owner    string // "" for the Collector
	}{
		"an object that the Collector controls": {
			metadata: `{ownerReferences: [{kind: Collector, name: gateway, uid: ours, controller: true}]}`,
		},
		"an object of the Collector that another release's notes are on": {
			metadata: `{ownerReferences: [{kind: Collector, name: gateway, uid: ours, controller: true}],
				annotations: {meta.helm.sh/release-name: other}}`,
		},
		"an object that the Collector owns without controlling it": {
			metadata: `{ownerReferences: [{kind: Collector, name: gateway, uid: ours}]}`,
			owner:    "nobody that it names",
		},
		"an object that Helm is told to keep when the Collector goes": {
			metadata: `{annotations: {operator-sdk/primary-resource: tenant/gateway, meta.helm.sh/release-name: gateway,
				operator-sdk/primary-resource-type: Collector.kube8.dev}}`,
		},
		"an object that Helm is told to keep for another Collector": {
			metadata: `{annotations: {operator-sdk/primary-resource: tenant/other, meta.helm.sh/release-name: other,
				operator-sdk/primary-resource-type: Collector.kube8.dev}}`,
			owner: `Helm release "other"`,
		},
		"an object of another controller": {
			metadata: `{ownerReferences: [{kind: Gateway, name: eu, uid: theirs, controller: true}],
				annotations: {meta.helm.sh/release-name: other}}`,
			owner: "Gateway/eu",
		},
		"an object of a Collector that had this name before": {
			metadata: `{ownerReferences: [{kind: Collector, name: gateway, uid: earlier, controller: true}]}`,
			owner:    "an earlier Collector/gateway",
		},
		"an object of a Helm release": {
			metadata: `{annotations: {meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: tenant}}`,
			owner:    `Helm release "other"`,
		},
		"an object of a Helm release of another namespace": {
			metadata: `{annotations: {meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: elsewhere}}`,
			owner:    `Helm release "other" of namespace "elsewhere"`,
		},
		"an object that somebody applied": {
			metadata: `{labels: {kube8.dev/collector: gateway, app.kubernetes.io/managed-by: Helm}}`,
			owner:    "nobody that it names",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{}}
			metadata := map[string]any{}
			if err := yaml.Unmarshal([]byte(test.metadata), &metadata); err != nil {
				t.Fatal(err)
			}
			live.Object["metadata"] = metadata
			live.SetKind("Service")
			live.SetName("gateway")
			live.SetNamespace("tenant")

			err := owned.Verify(live, collector)
			if test.owner == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			var conflict *owned.ConflictError
			if !errors.As(fmt.Errorf("wrapped: %w", err), &conflict) {
				t.Fatalf("got %v, want a *ConflictError", err)
			}
			want := `Service "gateway" exists and belongs to ` + test.owner + `; delete or rename it, or rename the Collector`
			if conflict.Error() != want {
				t.Errorf("got  %s\nwant %s", conflict, want)
			}
		})
	}
}
