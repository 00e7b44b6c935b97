package integration

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// specOfCRD returns the schema of the spec in a CRD's first version.
func specOfCRD(t *testing.T, crd *unstructured.Unstructured) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no versions: %v", err)
	}
	spec, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
	if err != nil || !found {
		t.Fatalf("no spec: %v", err)
	}
	return spec
}

// withSpecSchema gives the CRD another schema of the spec. The returned function restores the CRD, as the end of the test does. The test must
// not be parallel.
func withSpecSchema(t *testing.T, edit func(spec map[string]any) map[string]any) (restore func()) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("collectors.kube8.dev")
	set := func(spec map[string]any) {
		patch, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec", "value": spec},
		})
		if err == nil {
			err = plane.client.Patch(context.WithoutCancel(t.Context()), crd, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner("test"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	before := specOfCRD(t, crd)
	restore = sync.OnceFunc(func() { set(before) })
	t.Cleanup(restore)
	set(edit(specOfCRD(t, crd)))
	return restore
}

// The CRD of the last release took each `stored` of config/crd/released/accepted.yaml. The API server validates what changes, so
// such a Collector stays, the operator goes on with it, and only a change of what is refused now is refused.
func TestACollectorThatTheLastReleaseTookStays(t *testing.T) {
	var accepted []struct {
		Property  string         `json:"property"`
		Stored    map[string]any `json:"stored"`
		Refused   string         `json:"refused"`
		Unrelated bool           `json:"unrelated"`
	}
	released := &unstructured.Unstructured{}
	for path, into := range map[string]any{"accepted.yaml": &accepted, "kube8.dev_collectors.yaml": &released.Object} {
		text, err := os.ReadFile("config/crd/released/" + path)
		if err := errors.Join(err, yaml.Unmarshal(text, into)); err != nil {
			t.Fatal(err)
		}
	}
	g := NewWithT(t)
	restore := withSpecSchema(t, func(map[string]any) map[string]any { return specOfCRD(t, released) })
	stored := map[int]*v1alpha1.Collector{}
	for i, row := range accepted {
		if len(row.Stored) == 0 {
			continue
		}
		collector := newCollector(newNamespace(t), "gateway")
		text, err := json.Marshal(row.Stored)
		if err := errors.Join(err, json.Unmarshal(text, &collector.Spec)); err != nil {
			t.Fatal(err)
		}
		g.Eventually(func() error { return plane.client.Create(t.Context(), collector) }).Should(Succeed(), row.Property)
		stored[i] = collector
	}
	restore()
	for i, collector := range stored {
		t.Run(accepted[i].Property, func(t *testing.T) {
			g, row := NewWithT(t), accepted[i]
			g.Eventually(func() error { return plane.client.Create(t.Context(), newCollectorLike(collector), client.DryRunAll) }).
				Should(MatchError(ContainSubstring(row.Refused)), "another Collector")
			edit := func(edit func(*v1alpha1.Collector)) error {
				changed := get(t, collector, "", &v1alpha1.Collector{})
				before := changed.DeepCopy()
				edit(changed)
				return plane.client.Patch(t.Context(), changed, client.MergeFrom(before))
			}

			g.Expect(edit(func(c *v1alpha1.Collector) {
				metav1.SetMetaDataLabel(&c.ObjectMeta, "team", "a")
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, "true")
			})).To(Succeed(), "a change of metadata")
			awaitPaused(t, collector, corev1.ConditionTrue) // which the operator writes to the status
			g.Expect(edit(func(c *v1alpha1.Collector) { delete(c.Annotations, v1alpha1.PausedAnnotation) })).To(Succeed())
			awaitPaused(t, collector, corev1.ConditionFalse)

			err := edit(func(c *v1alpha1.Collector) { c.Spec.Cluster = "moved" })
			if row.Unrelated {
				g.Expect(err).NotTo(HaveOccurred(), "a change of another field")
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(row.Refused)), "a change of another field")
			}
			g.Eventually(func() int64 {
				now := get(t, collector, "", &v1alpha1.Collector{})
				return now.Generation - now.Status.ObservedGeneration
			}).Should(BeZero(), "the operator looks at each generation")

			g.Expect(plane.client.Delete(t.Context(), collector.DeepCopy())).To(Succeed())
			g.Eventually(func() bool {
				return apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{}))
			}).Should(BeTrue(), "the operator takes its finalizer away")
		})
	}
}
