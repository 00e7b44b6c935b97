// Package configsource has the Secret that a Collector refers to count as its configuration.
//
// It serves the post-renderer, which needs the hash of the content and refuses to deploy a configuration that is missing
// or wrong, and decorates the set-up of the stock reconciler's controller with a watch, so that a changed Secret starts a
// reconcile of the Collectors that refer to it. The informer cache holds only Secrets with the Collector label; a Secret
// without it is looked for on the API server, to tell its user what it lacks.
package configsource

import (
	"context"
	"fmt"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

const (
	// field is where users refer to a Secret in their Collector.
	field = "spec.collector.configurationSecret"

	// nameField is the index by which a Secret finds the Collectors that refer to it.
	nameField = field + ".name"
)

// Source reads the Secrets to which Collectors refer.
type Source struct {
	// Cache reads from the informer cache.
	Cache client.Reader

	// Live reads from the API server.
	Live client.Reader

	// DataDigest tells versions of a Secret's data apart, as the informer cache has it.
	DataDigest func(*corev1.Secret) string
}

// Configuration returns the configuration to which a Collector refers, or the zero value if its own spec has it. The error
// is a *postrender.ConfigurationError if the user has to mend something.
func (s *Source) Configuration(ctx context.Context, collector *unstructured.Unstructured) (postrender.Referenced, error) {
	name, key := reference(collector)
	if name == "" {
		return postrender.Referenced{}, nil
	}
	namespace, secret := collector.GetNamespace(), &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret) // the informer cache has no content
	_, labelled := secret.Labels[v1alpha1.CollectorLabel]
	content, found := secret.Data[key]
	switch {
	case apierrors.IsNotFound(err):
		return postrender.Referenced{}, missing(field, "namespace %s has no Secret %q; create it, with the label %s",
			namespace, name, v1alpha1.CollectorLabel)
	case err != nil:
		return postrender.Referenced{}, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	case !labelled:
		return postrender.Referenced{}, missing(field,
			"Secret %q lacks the label %[2]s, by which the operator follows its changes; run `kubectl label secret %[1]s -n %[3]s %[2]s=%[4]s`",
			name, v1alpha1.CollectorLabel, namespace, collector.GetName())
	case !found:
		return postrender.Referenced{}, missing(field+".key", "Secret %q has no key %q; add it, or name another", name, key)
	}
	format, _, _ := unstructured.NestedString(collector.Object, "spec", "collector", "format")
	hash, err := postrender.Check(content, format)
	if err != nil {
		reason := fmt.Sprintf("key %q of Secret %q: %v", key, name, err)
		return postrender.Referenced{}, &postrender.ConfigurationError{Field: field, Reason: reason}
	}
	return postrender.Referenced{Secret: name, Hash: hash, Content: content}, nil
}

func missing(field, format string, args ...any) error {
	return &postrender.ConfigurationError{Field: field, Missing: true, Reason: fmt.Sprintf(format, args...)}
}

// Version tells versions of the Secret to which collector refers apart, by what the informer cache has: a digest of the
// Secret's data, or "missing". It is empty if the configuration is in collector's own spec.
func (s *Source) Version(collector *unstructured.Unstructured) string {
	name, _ := reference(collector)
	if name == "" {
		return ""
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: collector.GetNamespace(), Name: name}
	// It does not wait: the reconciler watches Secrets too, and starts when the cache has them.
	if err := s.Cache.Get(context.Background(), key, secret, client.UnsafeDisableDeepCopy); err != nil {
		return "missing"
	}
	return s.DataDigest(secret)
}

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

// reference returns the name of the Secret to which collector refers, and the key in it. Both are empty if its own spec
// has the configuration.
func reference(collector *unstructured.Unstructured) (name, key string) {
	found, _, _ := unstructured.NestedFieldNoCopy(collector.Object, "spec", "collector", "configurationSecret")
	fields, _ := found.(map[string]any)
	name, _ = fields["name"].(string)
	key, _ = fields["key"].(string)
	return name, key
}
