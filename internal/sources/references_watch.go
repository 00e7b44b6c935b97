package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// index is the name of the index from a Secret or ConfigMap to the Collectors that refer to it.
const index = "references"

// Watch has a controller reconcile the Collectors, which are of kind, that refer to a Secret or ConfigMap when it appears, changes
// or goes.
func (r *ReferenceReader) Watch(mgr ctrl.Manager, controller controller.Controller, kind schema.GroupVersionKind) error {
	collector := &unstructured.Unstructured{}
	collector.SetGroupVersionKind(kind)
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), collector, index, referencedBy); err != nil {
		return fmt.Errorf("index %s by %s: %w", kind.Kind, index, err)
	}
	toReferring := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return referring(ctx, mgr.GetClient(), kind, object)
	})
	for _, object := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
		if err := controller.Watch(source.Kind(mgr.GetCache(), object, toReferring, contentChanged(r.DataDigest))); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return nil
}

// referencedBy returns what a Collector refers to, as the index has it.
func referencedBy(object client.Object) (found []string) {
	collector, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if name, _ := reference(collector); name != "" {
		found = append(found, secretKind+name)
	}
	return slices.AppendSeq(found, maps.Keys(referred(collector)))
}

// referring returns the Collectors that refer to a Secret or ConfigMap, by the informer cache.
func referring(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, object client.Object) []reconcile.Request {
	what := secretKind + object.GetName()
	if _, is := object.(*corev1.ConfigMap); is {
		what = configMapKind + object.GetName()
	}
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := reader.List(ctx, collectors, client.InNamespace(object.GetNamespace()), client.MatchingFields{index: what},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Collectors that refer to an object", "namespace", object.GetNamespace(), "object", what)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(collectors.Items))
	for i := range collectors.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&collectors.Items[i])})
	}
	return requests
}

// contentChanged passes over changes of metadata. An object that gets the label appears, and one that loses it goes.
func contentChanged(digest func(client.Object) string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || digest(e.ObjectOld) != digest(e.ObjectNew)
	}}
}
