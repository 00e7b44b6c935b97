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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// field is where users refer to a Secret in their Collector.
const field = "spec.collector.configurationSecret"

// Source reads the Secrets to which Collectors refer.
type Source struct {
	// Cache reads from the informer cache.
	Cache client.Reader

	// Live reads from the API server.
	Live client.Reader

	// DataDigest tells versions of a Secret's data apart, as the informer cache has it.
	DataDigest func(*corev1.Secret) string
}

// Configuration returns the configuration to which a Collector refers, or the zero value if its own spec has it.
// The error is a *postrender.ConfigurationError if the
// user has to mend something.
func (s *Source) Configuration(ctx context.Context, obj *unstructured.Unstructured) (postrender.Referenced, error) {
	name, key := reference(obj)
	if name == "" {
		return postrender.Referenced{}, nil
	}
	secret, err := s.secret(ctx, obj, name)
	if err != nil {
		return postrender.Referenced{}, err
	}
	content, found := secret.Data[key]
	if !found {
		return postrender.Referenced{}, &postrender.ConfigurationError{
			Field: field + ".key", Missing: true, Reason: fmt.Sprintf("Secret %q has no key %q; add it, or name another", name, key),
		}
	}
	format, _, _ := unstructured.NestedString(obj.Object, "spec", "collector", "format")
	hash, err := postrender.Check(content, format)
	if err != nil {
		return postrender.Referenced{}, &postrender.ConfigurationError{
			Field: field, Reason: fmt.Sprintf("key %q of Secret %q: %v", key, name, err),
		}
	}
	return postrender.Referenced{Secret: name, Hash: hash, Content: content}, nil
}

// secret reads the Secret of a name for collector. The informer cache has no content.
func (s *Source) secret(ctx context.Context, collector *unstructured.Unstructured, name string) (*corev1.Secret, error) {
	key, secret := client.ObjectKey{Namespace: collector.GetNamespace(), Name: name}, &corev1.Secret{}
	err := s.Live.Get(ctx, key, secret)
	switch _, labelled := secret.Labels[v1alpha1.CollectorLabel]; {
	case apierrors.IsNotFound(err):
		return nil, &postrender.ConfigurationError{
			Field: field, Missing: true, Reason: fmt.Sprintf("namespace %s has no Secret %q; create it, with the label %s",
				key.Namespace, name, v1alpha1.CollectorLabel),
		}
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	case !labelled:
		return nil, &postrender.ConfigurationError{
			Field: field, Missing: true, Reason: fmt.Sprintf(
				"Secret %q lacks the label %s, by which the operator follows its changes; run `kubectl label secret %s -n %s %s=%s`",
				name, v1alpha1.CollectorLabel, name, key.Namespace, v1alpha1.CollectorLabel, collector.GetName()),
		}
	}
	return secret, nil
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

// reference returns the name of the Secret to which collector refers, and the key in it. Both are empty if its own spec
// has the configuration.
func reference(collector *unstructured.Unstructured) (name, key string) {
	found, _, _ := unstructured.NestedFieldNoCopy(collector.Object, "spec", "collector", "configurationSecret")
	fields, _ := found.(map[string]any)
	name, _ = fields["name"].(string)
	key, _ = fields["key"].(string)
	return name, key
}
