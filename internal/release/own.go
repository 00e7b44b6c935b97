package release

import (
	"context"
	"fmt"
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// cacheTimeout is how long a look into the informer cache may take. Only the first look at a kind takes any time.
const cacheTimeout = 10 * time.Second

// ConflictError says that an object which the Collector needs exists with another owner. Only a change by a user helps.
type ConflictError struct{ message string }

// Error names what is in the way, whose it is, and what to do.
func (e *ConflictError) Error() string { return e.message }

// own makes the Collector the controller of the objects that it becomes, and refuses those that it must not have: the
// operator writes into the Collector's namespace only, and only what it can watch.
func (r *actionClient) own(objects []*unstructured.Unstructured) error {
	owner := metav1.NewControllerRef(r.collector, r.collector.GetObjectKind().GroupVersionKind())
	for _, object := range objects {
		name := describe(object.GroupVersionKind(), object.GetName())
		if !r.chart.renders(object.GroupVersionKind()) {
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
			return &goneError{err}
		case err != nil:
			return fmt.Errorf("look up the kind of %s: %w", name, err)
		case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
			return fmt.Errorf("%s is of a kind that no namespace holds; a Collector has objects in its own namespace only", name)
		}
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
	}
	return nil
}

// verify returns a *ConflictError if live, an object as it is in the cluster, is not the Collector's.
func (r *actionClient) verify(live client.Object, kind schema.GroupVersionKind) error {
	if metav1.IsControlledBy(live, r.collector) {
		return nil
	}
	return &ConflictError{fmt.Sprintf("%s exists and %s; delete or rename it, or rename the Collector",
		describe(kind, live.GetName()), ownerOf(live, r.collector))}
}

// ownerOf says which owner an object has, as far as the object tells.
func ownerOf(object, collector client.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		name := owner.Kind + "/" + owner.Name
		if name == "Collector/"+collector.GetName() {
			return "belongs to an earlier " + name
		}
		return "belongs to " + name
	}
	release, namespace := object.GetAnnotations()["meta.helm.sh/release-name"], object.GetAnnotations()["meta.helm.sh/release-namespace"]
	switch {
	case release == "":
		return "has no owner"
	case namespace == "" || namespace == object.GetNamespace():
		return fmt.Sprintf("belongs to Helm release %q", release)
	}
	return fmt.Sprintf("belongs to Helm release %q of namespace %q", release, namespace)
}

// observe reads from the informer cache what the Collector controls, of all kinds that the chart can render.
func (r *actionClient) observe(ctx context.Context) error {
	return r.observeBy(ctx, r.cluster, client.MatchingFields{controllerIndex: string(r.collector.GetUID())})
}

// observeMoved reads the same from the API server, if another operator has deployed it: the label that the informer cache goes by
// is that operator's until this one has applied each object.
func (r *actionClient) observeMoved(ctx context.Context) error {
	_, isDeployed, _ := unstructured.NestedMap(r.collector.Object, "status", "deployedRelease")
	if r.moved = r.Shard != "" && isDeployed && !r.hasWorkload(); !r.moved {
		return nil
	}
	return r.observeBy(ctx, r.live, client.MatchingLabels{v1alpha1.CollectorLabel: r.collector.GetName()})
}

func (r *actionClient) observeBy(ctx context.Context, reader client.Reader, selected client.ListOption) error {
	r.observed = map[ref]client.Object{}
	for _, kind := range r.chart.kinds {
		if err := r.observeKind(ctx, kind, cacheTimeout, reader, selected); err != nil {
			return err
		}
	}
	current, err := r.offers.get(ctx)
	switch {
	case err != nil && r.moved:
		return err // deleting does not render, and would overlook objects
	case err != nil:
		return nil //nolint:nilerr // rendering fails for that
	}
	for _, kind := range current.kinds {
		// In the informer cache it fails if the kind has just gone from the cluster, and its objects with it.
		if err := r.observeKind(ctx, kind, behind, reader, selected); err != nil && r.moved {
			return err
		}
	}
	return nil
}

func (r *actionClient) observeKind(
	ctx context.Context, kind schema.GroupVersionKind, timeout time.Duration, reader client.Reader, selected client.ListOption,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list := listOf(kind)
	if err := reader.List(ctx, list, client.InNamespace(r.collector.GetNamespace()), selected, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the objects of kind %s: %w", kind.Kind, err)
	}
	eachItem(list, func(object client.Object) {
		if seen, err := Strip(object); err == nil && metav1.IsControlledBy(object, r.collector) {
			r.observed[newRef(kind, object.GetName())], _ = seen.(client.Object)
		}
	})
	return nil
}

// isChosen tells whether the Collector is still one of those that the operator is for.
func (r *actionClient) isChosen() bool {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(r.collector.GroupVersionKind())
	return r.cluster.Get(r.ctx, client.ObjectKeyFromObject(r.collector), now, client.UnsafeDisableDeepCopy) == nil
}

// find reads an object from the API server. It returns nil if there is none.
func (r *actionClient) find(ctx context.Context, what ref) (client.Object, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(what.kind())
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.collector.GetNamespace(), Name: what.name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return found, nil
}

// ref names an object in the Collector's namespace.
type ref struct {
	kindHandle unique.Handle[schema.GroupVersionKind] // a sixth of the kind's size: there are many references, and few kinds
	name       string
}

func newRef(kind schema.GroupVersionKind, name string) ref { return ref{unique.Make(kind), name} }

func (r ref) kind() schema.GroupVersionKind { return r.kindHandle.Value() }

// String returns kind and name as messages have them.
func (r ref) String() string { return describe(r.kind(), r.name) }

func describe(kind schema.GroupVersionKind, name string) string {
	return fmt.Sprintf("%s %q", kind.Kind, name)
}

func refTo(object *unstructured.Unstructured) ref {
	return newRef(object.GroupVersionKind(), object.GetName())
}
