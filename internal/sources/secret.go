package sources

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// secretField is where users refer to a Secret in their Collector.
const secretField = "spec.collector.configurationSecret"

// ReferenceReader reads the Secrets and ConfigMaps that Collectors refer to.
type ReferenceReader struct {
	Cache client.Reader // the informer cache
	Live  client.Reader // the API server

	// DataDigest tells versions of the data of a Secret or ConfigMap apart, as the informer cache has it, or whole.
	DataDigest func(client.Object) string
}

// Configuration returns the configuration that a Collector refers to, or the zero value if its own spec has it. The error
// is a *configuration.Error if the user has to mend something. With one about the content, the version of that is returned.
func (r *ReferenceReader) Configuration(ctx context.Context, collector *unstructured.Unstructured) (postrender.Referenced, error) {
	name, key := reference(collector)
	if name == "" {
		return postrender.Referenced{}, nil
	}
	namespace, secret := collector.GetNamespace(), &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret) // the informer cache has no content
	_, labelled := secret.Labels[v1alpha1.CollectorLabel]
	content, found := secret.Data[key]
	switch {
	case apierrors.IsNotFound(err):
		return postrender.Referenced{}, missing(secretField, "namespace %s has no Secret %q; create it, with the label %s",
			namespace, name, v1alpha1.CollectorLabel)
	case err != nil:
		return postrender.Referenced{}, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	case !labelled:
		return postrender.Referenced{}, missing(secretField,
			"Secret %q lacks the label %[2]s, by which the operator follows its changes; run `kubectl label secret %[1]s -n %[3]s %[2]s=%[4]s`",
			name, v1alpha1.CollectorLabel, namespace, collector.GetName())
	case !found:
		return postrender.Referenced{}, missing(secretField+".key", "Secret %q has no key %q; add it, or name another", name, key)
	case len(content) == 0:
		reason := fmt.Sprintf("key %q of Secret %q is empty; set it to the content of the file, or name another", key, name)
		return postrender.Referenced{Version: r.version(secret)}, &configuration.Error{Field: secretField, Reason: reason}
	}
	format, _, _ := unstructured.NestedString(collector.Object, "spec", "collector", "format")
	if _, err := configuration.Check(content, format); err != nil {
		reason := fmt.Sprintf("key %q of Secret %q: %v", key, name, err)
		return postrender.Referenced{Version: r.version(secret)}, &configuration.Error{Field: secretField, Reason: reason}
	}
	return postrender.Referenced{Secret: name, Hash: configuration.HashOf(content), Content: content, Version: r.version(secret)}, nil
}

func missing(field, format string, args ...any) error {
	return &configuration.Error{Field: field, Missing: true, Reason: fmt.Sprintf(format, args...)}
}

// Versions tell versions of what collector refers to apart, by what the informer cache has: a digest of the data of its
// configuration's Secret, or "missing", and what References says. They are empty if nothing is referred to.
func (r *ReferenceReader) Versions(collector *unstructured.Unstructured) (configuration, references string) {
	references, _ = r.References(collector, "")
	if name, _ := reference(collector); name != "" {
		configuration = cmp.Or(r.digest(collector.GetNamespace(), secretKind+name), "missing")
	}
	return configuration, references
}

// reference returns the name of the Secret that collector refers to, and the key in it. Both are empty if its own spec
// has the configuration.
func reference(collector *unstructured.Unstructured) (name, key string) {
	name, _, _ = unstructured.NestedString(collector.Object, "spec", "collector", "configurationSecret", "name")
	key, _, _ = unstructured.NestedString(collector.Object, "spec", "collector", "configurationSecret", "key")
	return name, key
}
