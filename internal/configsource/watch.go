package configsource

import (
	"context"
	"fmt"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// nameField is the index by which a Secret finds the Collectors that refer to it.
const nameField = field + ".name"

// Watch has the reconciler of an entry of the watches file reconcile the Collectors that refer to a Secret when it appears,
// changes or goes. It shares the informer of the reconciler's own Secret watch.
func (s *Source) Watch(mgr ctrl.Manager, watch watches.Watch) reconciler.ControllerSetupFunc {
	return func(controller reconciler.ControllerSetup) error {
		selector, err := metav1.LabelSelectorAsSelector(watch.Selector)
		if err != nil {
			return fmt.Errorf("read the watch's selector: %w", err)
		}
		collector := &unstructured.Unstructured{}
		collector.SetGroupVersionKind(watch.GroupVersionKind)
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), collector, nameField, referencedName); err != nil {
			return fmt.Errorf("index %s by %s: %w", watch.Kind, nameField, err)
		}
		toReferring := handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, secret *corev1.Secret) []reconcile.Request {
			return referring(ctx, s.Cache, watch.GroupVersionKind, selector, secret)
		})
		if err := controller.Watch(source.Kind(mgr.GetCache(), &corev1.Secret{}, toReferring, contentChanged(s.DataDigest))); err != nil {
			return fmt.Errorf("watch Secret: %w", err)
		}
		return nil
	}
}

func referencedName(obj client.Object) []string {
	if collector, ok := obj.(*unstructured.Unstructured); ok {
		if name, _ := reference(collector); name != "" {
			return []string{name}
		}
	}
	return nil
}

// referring returns the Collectors that refer to secret, by the informer cache.
func referring(
	ctx context.Context, cache client.Reader, kind schema.GroupVersionKind, selector labels.Selector, secret *corev1.Secret,
) []reconcile.Request {
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := cache.List(ctx, collectors, client.InNamespace(secret.Namespace), client.MatchingFields{nameField: secret.Name},
		client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Collectors of a Secret", "namespace", secret.Namespace, "name", secret.Name)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(collectors.Items))
	for i := range collectors.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&collectors.Items[i])})
	}
	return requests
}

// contentChanged passes over changes of metadata. A Secret that gets the label appears, and one that loses it goes.
func contentChanged(digest func(*corev1.Secret) string) predicate.TypedPredicate[*corev1.Secret] {
	return predicate.TypedFuncs[*corev1.Secret]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Secret]) bool { return digest(e.ObjectOld) != digest(e.ObjectNew) },
	}
}
