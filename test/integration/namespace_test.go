package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// namespacePrefix is in the names of the tests' namespaces.
const namespacePrefix = "integration-"

// newNamespace creates a namespace for one test. When the test ends it says what went wrong in there, checks that no
// secret was given away, and removes the Collectors.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix}}
	if err := plane.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkForSecrets(t, namespace.Name)
		if t.Failed() {
			dump(t, namespace.Name)
		}
		// One request for each: one for all takes longer than the API server lets a request take where there are many large Collectors.
		collectors := &metav1.PartialObjectMetadataList{}
		collectors.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("CollectorList"))
		failed := plane.client.List(context.Background(), collectors, client.InNamespace(namespace.Name))
		for _, collector := range collectors.Items {
			failed = errors.Join(failed, client.IgnoreNotFound(plane.client.Delete(context.Background(), &collector)))
		}
		if failed != nil {
			t.Error(failed)
		}
	})
	return namespace.Name
}

// list returns the objects of one kind in a namespace.
func list(t *testing.T, namespace, apiVersion, kind string, options ...client.ListOption) []unstructured.Unstructured {
	t.Helper()
	found := &unstructured.UnstructuredList{}
	found.SetAPIVersion(apiVersion)
	found.SetKind(kind)
	options = append(options, client.InNamespace(namespace))
	if err := plane.client.List(context.WithoutCancel(t.Context()), found, options...); err != nil {
		t.Fatalf("list %s: %v", kind, err)
	}
	return found.Items
}

// contents returns all that is in a namespace, of whatever kind, by kind and name.
func contents(t *testing.T, namespace string, options ...client.ListOption) map[string]unstructured.Unstructured {
	t.Helper()
	found := map[string]unstructured.Unstructured{}
	for _, kind := range plane.namespaced {
		for _, object := range list(t, namespace, kind.GroupVersion().String(), kind.Kind, options...) {
			found[object.GetKind()+"/"+object.GetName()] = object
		}
	}
	return found
}

// names returns the keys of contents, in order.
func names(objects map[string]unstructured.Unstructured) []string {
	keys := []string{}
	for key := range objects {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

// dump logs what there is to know about a namespace.
func dump(t *testing.T, namespace string) {
	t.Helper()
	var out strings.Builder
	for _, collector := range list(t, namespace, "kube8.dev/v1alpha1", "Collector") {
		collector.SetManagedFields(nil)
		fmt.Fprintf(&out, "--- Collector %s\n%s", collector.GetName(), toYAML(collector.Object))
	}
	for _, event := range list(t, namespace, "v1", "Event") {
		fmt.Fprintf(&out, "--- event: %v %v\n", event.Object["reason"], event.Object["message"])
	}
	fmt.Fprintf(&out, "--- the operator's log about %s\n%s", namespace, shared.log.tail(namespace))
	t.Log(out.String())
}

func toYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
