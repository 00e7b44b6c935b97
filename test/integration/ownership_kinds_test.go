package integration

import (
	"maps"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/helm-charts/collector/ci"
)

// TestAnObjectOfSomebodyElseIsNotTakenWhateverItsKind takes the kinds from the chart's cases: they cover all that the chart can render.
func TestAnObjectOfSomebodyElseIsNotTakenWhateverItsKind(t *testing.T) {
	t.Parallel()
	cases, err := ci.Cases("helm-charts/collector/ci")
	if err != nil {
		t.Fatal(err)
	}
	var met sync.Map // kinds
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newCollectorOf(t, values)
			var objects []unstructured.Unstructured
			if first.Spec.Check == nil {
				create(t, first)
			} else {
				if err := plane.client.Create(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				job := awaitCheck(t, first) // which goes when it has accepted the Collector
				objects = slices.Collect(maps.Values(contents(t, first.Namespace, client.HasLabels{collectorLabel})))
				acceptCheck(t, job)
				awaitRevision(t, first, 1)
				awaitTold(t, first)
			}
			for _, object := range contents(t, first.Namespace, client.HasLabels{collectorLabel}) {
				objects = append(objects, object)
			}
			for _, object := range objects {
				if metav1.GetControllerOf(&object) == nil { // a Secret that the Collector refers to
					continue
				}
				if _, known := met.LoadOrStore(object.GetKind(), true); known {
					continue
				}
				t.Run(object.GetKind(), func(t *testing.T) {
					collector := newCollectorOf(t, values)
					if object.GetKind() != "Job" { // which would have to accept the rest
						collector.Spec.Check = nil
					}
					foreign := copyOf(&object, collector.Namespace)
					if err := plane.client.Create(t.Context(), foreign); err != nil {
						t.Fatal(err)
					}
					if err := plane.client.Create(t.Context(), collector); err != nil {
						t.Fatal(err)
					}
					awaitConflict(t, collector, foreign.GetKind()+` "`+foreign.GetName()+`" exists and has no owner; `+
						"delete or rename it, or rename the Collector")
					touch(t, collector)
					expectUntouched(t, foreign)
				})
			}
		})
	}
}

// copyOf returns an object as somebody else may create it in another namespace, without what the API server adds to it.
func copyOf(object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	again := object.DeepCopy()
	again.Object["metadata"] = map[string]any{"name": object.GetName(), "namespace": namespace}
	delete(again.Object, "status")
	switch object.GetKind() {
	case "Service":
		again.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}
	case "Job":
		unstructured.RemoveNestedField(again.Object, "spec", "selector")
		unstructured.RemoveNestedField(again.Object, "spec", "template", "metadata", "labels")
	}
	return again
}
