package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/render"
)

// setOwner makes the Collector the controller of an object that it becomes, and refuses one that it must not have: the
// operator writes into the Collector's namespace only, and only what it can watch.
func (r *actionClient) setOwner(object *unstructured.Unstructured) error {
	name := inventory.ReferenceTo(object)
	if !r.chart.Renders(object.GroupVersionKind()) {
		return fmt.Errorf("%s is of a kind that the templates of the chart do not name; "+
			"write apiVersion and kind at the beginning of two lines", name)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(r.collector.GetNamespace())
	}
	if object.GetNamespace() != r.collector.GetNamespace() {
		return fmt.Errorf("%s is rendered for namespace %q; a Collector has objects in its own namespace only",
			name, object.GetNamespace())
	}
	mapping, err := r.cluster.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	switch {
	case meta.IsNoMatchError(err):
		return apply.NewGoneError(err)
	case err != nil:
		return fmt.Errorf("look up the kind of %s: %w", name, err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return fmt.Errorf("%s is of a kind that no namespace holds; a Collector has objects in its own namespace only", name)
	}
	owner := metav1.NewControllerRef(r.collector, r.collector.GetObjectKind().GroupVersionKind())
	object.SetOwnerReferences([]metav1.OwnerReference{*owner})
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.CollectorLabel] = r.collector.GetName() // the informer cache has objects with this label only
	if r.Shard != "" {
		labels[v1alpha1.OperatorLabel] = r.Shard
	}
	object.SetLabels(labels)
	return nil
}

// own returns what was rendered as the Collector's own objects.
func (r *actionClient) own(rendered *render.Rendered) (Want, error) {
	want := Want{Hash: rendered.Hash}
	for _, object := range rendered.Objects {
		if err := r.setOwner(object); err != nil {
			return want, err
		}
		owned, err := render.NewObject(object)
		if err != nil {
			return want, fmt.Errorf("read %s: %w", inventory.ReferenceTo(object), err)
		}
		want.Objects = append(want.Objects, owned)
	}
	return want, nil
}
