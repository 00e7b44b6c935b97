package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
)

// Owner is whose the objects are that are rendered.
type Owner struct {
	// Collector becomes their controller.
	Collector *unstructured.Unstructured

	// Mapper knows which kinds a namespace holds.
	Mapper meta.RESTMapper
}

// Own returns what was rendered as the owner's objects. It is an error if a Collector must not have one of them.
func (c *Chart) Own(rendered *Rendered, owner Owner) ([]Object, error) {
	objects := make([]Object, 0, len(rendered.Objects))
	for _, object := range rendered.Objects {
		if err := c.setOwner(object, owner); err != nil {
			return nil, err
		}
		owned, err := NewObject(object)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", live.ReferenceTo(object), err)
		}
		objects = append(objects, owned)
	}
	return objects, nil
}

// setOwner makes the Collector the controller of an object that it becomes, and refuses one that it must not have: the
// operator writes into the Collector's namespace only, and only what it can watch.
func (c *Chart) setOwner(object *unstructured.Unstructured, by Owner) error {
	name := live.ReferenceTo(object)
	if !c.renders(object.GroupVersionKind()) {
		return fmt.Errorf("%s is of a kind that the templates of the chart do not name; "+
			"write apiVersion and kind at the beginning of two lines", name)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(by.Collector.GetNamespace())
	}
	if object.GetNamespace() != by.Collector.GetNamespace() {
		return fmt.Errorf("%s is rendered for namespace %q; a Collector has objects in its own namespace only",
			name, object.GetNamespace())
	}
	if wrong := content.IsPathSegmentName(object.GetName()); len(wrong) > 0 {
		return fmt.Errorf("%s: a name is part of a path of the API server: it %s", name, strings.Join(wrong, ", "))
	}
	mapping, err := by.Mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	switch {
	case meta.IsNoMatchError(err):
		return err //nolint:wrapcheck // it names the kind
	case err != nil:
		return fmt.Errorf("look up the kind of %s: %w", name, err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return fmt.Errorf("%s is of a kind that no namespace holds; a Collector has objects in its own namespace only", name)
	}
	owner := metav1.NewControllerRef(by.Collector, by.Collector.GetObjectKind().GroupVersionKind())
	object.SetOwnerReferences([]metav1.OwnerReference{*owner})
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.CollectorLabel] = by.Collector.GetName() // the informer cache has objects with this label only
	object.SetLabels(labels)
	return nil
}
