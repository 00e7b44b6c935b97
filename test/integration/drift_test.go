package integration

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestADeletedDependentComesBack(t *testing.T) {
	t.Parallel()
	collector := install(t)
	for name, object := range map[string]client.Object{
		"the Service":        get(t, collector, "", &corev1.Service{}),
		"the config Secret":  get(t, collector, filesOf(config), &corev1.Secret{}),
		"the Deployment":     get(t, collector, "", &appsv1.Deployment{}),
		"the ServiceAccount": get(t, collector, "", &corev1.ServiceAccount{}),
	} {
		t.Run(name, func(t *testing.T) {
			want := shape(t, collector)
			if err := plane.client.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			awaitContents(t, collector, want)
		})
	}
}

func TestAnEditedDependentIsPutRight(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		suffix string
		object client.Object
		edit   func(client.Object)
	}{
		{"the config Secret's hash", filesOf(config), &corev1.Secret{}, func(o client.Object) {
			o.GetAnnotations()[hashAnnotation] = "edited"
		}},
		{"the Service's selector", "", &corev1.Service{}, func(o client.Object) {
			o.(*corev1.Service).Spec.Selector[collectorLabel] = "another"
		}},
		{"the Service's port number", "", &corev1.Service{}, func(o client.Object) {
			o.(*corev1.Service).Spec.Ports[0].Port = 1
		}},
		{"the Service's port name", "", &corev1.Service{}, func(o client.Object) {
			o.(*corev1.Service).Spec.Ports[0].Name = "edited"
		}},
		{"the Service's ports, one of them removed", "", &corev1.Service{}, func(o client.Object) {
			o.(*corev1.Service).Spec.Ports = o.(*corev1.Service).Spec.Ports[1:]
		}},
		{"the Deployment's replicas", "", &appsv1.Deployment{}, func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Replicas = new(int32(7))
		}},
		{"the Deployment's image", "", &appsv1.Deployment{}, func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "example.com/edited"
		}},
		{"the Deployment's port number", "", &appsv1.Deployment{}, func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 1
		}},
		{"the Deployment's configuration hash", "", &appsv1.Deployment{}, func(o client.Object) {
			delete(o.(*appsv1.Deployment).Spec.Template.Annotations, hashAnnotation)
		}},
		{"the Deployment's label, without which the operator cannot see it", "", &appsv1.Deployment{}, func(o client.Object) {
			delete(o.GetLabels(), collectorLabel)
		}},
		{"the config Secret's label, without which the operator cannot see it", filesOf(config), &corev1.Secret{}, func(o client.Object) {
			delete(o.GetLabels(), collectorLabel)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			want := shape(t, collector)
			object := get(t, collector, row.suffix, row.object)
			row.edit(object)
			if err := plane.client.Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			awaitContents(t, collector, want)
		})
	}
}

func awaitContents(t *testing.T, collector *v1alpha1.Collector, want map[string]unstructured.Unstructured) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return gocmp.Diff(want, shape(t, collector)) }).Should(BeEmpty())
}

// shape returns a Collector's objects without what the API server gives to each object that it stores.
func shape(t *testing.T, collector *v1alpha1.Collector) map[string]unstructured.Unstructured {
	t.Helper()
	objects := contents(t, collector.Namespace, client.MatchingLabels{collectorLabel: collector.Name})
	for _, object := range objects {
		for _, field := range [][]string{
			{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"},
			{"metadata", "creationTimestamp"}, {"metadata", "managedFields"},
			{"status"},
			// Helm's notes on what it created, which the stock reconciler leaves out when it creates an object anew.
			{"metadata", "annotations", "meta.helm.sh/release-name"}, {"metadata", "annotations", "meta.helm.sh/release-namespace"},
		} {
			unstructured.RemoveNestedField(object.Object, field...)
		}
		if address, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); address != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
		}
		if len(object.GetAnnotations()) == 0 {
			object.SetAnnotations(nil)
		}
	}
	return objects
}
