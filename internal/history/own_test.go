package history

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/sources"
)

// sourceOf returns what revisions are made from, with a chart that has some templates.
func sourceOf(t *testing.T, templates ...string) *Source {
	t.Helper()
	made := &helm.Chart{Metadata: &helm.Metadata{APIVersion: "v2", Name: "collector", Version: "0.1.0"}}
	for _, template := range templates {
		made.Templates = append(made.Templates, &helm.File{Name: "templates/a.yaml", Data: []byte(template)})
	}
	chrt, err := render.NewChart(made)
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), meta.RESTScopeRoot)
	none := func(context.Context, *unstructured.Unstructured) (sources.Bases, error) { return nil, nil }
	return &Source{Chart: chrt, Mapper: mapper, Bases: none}
}

// gateway returns a Collector in the namespace acme.
func gateway() *unstructured.Unstructured {
	collector := &unstructured.Unstructured{}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	collector.SetNamespace("acme")
	collector.SetName("gateway")
	collector.SetUID("a-b-c")
	return collector
}

func objectIn(kind schema.GroupVersionKind, namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName("a")
	return object
}

func named(object *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object.SetName(name)
	return object
}

func TestOwn(t *testing.T) {
	s := sourceOf(t, "apiVersion: v1\nkind: Secret\n", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")
	secret, role := corev1.SchemeGroupVersion.WithKind("Secret"), rbacv1.SchemeGroupVersion.WithKind("ClusterRole")
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"an object of the Collector's namespace":         {objectIn(secret, "acme"), ""},
		"an object that names no namespace":              {objectIn(secret, ""), ""},
		"an object whose name is a path":                 {named(objectIn(secret, ""), "a/token"), "it may not contain '/'"},
		"an object whose name is escaped":                {named(objectIn(secret, ""), "a%2ftoken"), "it may not contain '%'"},
		"an object of another namespace":                 {objectIn(secret, "globex"), `rendered for namespace "globex"`},
		"an object of the cluster":                       {objectIn(role, ""), "of a kind that no namespace holds"},
		"an object of which no template of the chart is": {objectIn(corev1.SchemeGroupVersion.WithKind("Pod"), "acme"), "do not name"},
	} {
		want, err := s.own(&render.Rendered{Objects: []*unstructured.Unstructured{test.object}, Hash: "r1"}, gateway())
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		owners := test.object.GetOwnerReferences()
		if err != nil || test.object.GetNamespace() != "acme" || len(owners) != 1 || owners[0].UID != "a-b-c" ||
			!*owners[0].Controller || test.object.GetLabels()[v1alpha1.CollectorLabel] != "gateway" {
			t.Errorf("%s: error %v, object %v", name, err, test.object)
		}
		if hash := test.object.GetAnnotations()[v1alpha1.AppliedAnnotation]; hash == "" || hash != want.Objects[0].Hash || want.Hash != "r1" {
			t.Errorf("%s: hash %q", name, hash)
		}
	}
}
