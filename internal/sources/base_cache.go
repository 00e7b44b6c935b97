package sources

import (
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
)

const (
	// versionAnnotation and refusalAnnotation are where the informer cache keeps a base's version, and what is wrong with it. The API
	// server accepts no such names from anybody.
	versionAnnotation, refusalAnnotation = "/version", "/refusal"

	// versionLength is how many digits of a hash a version has.
	versionLength = 20

	// longestFile is how long the key of a Secret can be.
	longestFile = 253
)

// StripBase leaves of a base its content, its version and what is wrong with it, which is found out once, and of a namespace the names of
// its bases. It is for cache.Options.
func StripBase(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil // the last known state of a deleted object
	}
	if _, isKnown := object.GetAnnotations()[versionAnnotation]; isKnown {
		return in, nil
	}
	kept := metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Annotations: map[string]string{versionAnnotation: ""},
	}
	labels := object.GetLabels()
	kept.Labels = map[string]string{v1alpha1.BaseLabel: labels[v1alpha1.BaseLabel], v1alpha1.BasesLabel: labels[v1alpha1.BasesLabel]}
	if _, is := object.(*corev1.Namespace); is {
		return &corev1.Namespace{ObjectMeta: kept}, nil
	}
	file, content, reason := checked(object)
	kept.Annotations[versionAnnotation], kept.Annotations[refusalAnnotation] = VersionOf(content), reason
	data := map[string][]byte{file: content}
	if reason != "" {
		data = nil
	}
	if _, is := object.(*corev1.Secret); is {
		return &corev1.Secret{ObjectMeta: kept, Data: data}, nil
	}
	return &corev1.ConfigMap{ObjectMeta: kept, BinaryData: data}, nil
}

// VersionOf returns the version of a content, as statuses tell it.
func VersionOf(content []byte) string { return configuration.HashOf(content)[:versionLength] }

// read returns a base as Strip has left it, or what is wrong with it.
func read(object client.Object) (found Base, refusal string) {
	annotations := object.GetAnnotations()
	found = Base{
		Name: object.GetName(), Version: annotations[versionAnnotation], Position: v1alpha1.BasePosition(object.GetLabels()[v1alpha1.BaseLabel]),
	}
	for found.File, found.content = range DataOf(object) {
	}
	return found, annotations[refusalAnnotation]
}

// isSame tells whether nothing has changed that Strip keeps.
func isSame(before, after client.Object) bool {
	return maps.Equal(before.GetLabels(), after.GetLabels()) && maps.Equal(before.GetAnnotations(), after.GetAnnotations()) &&
		slices.Equal(slices.Collect(maps.Keys(DataOf(before))), slices.Collect(maps.Keys(DataOf(after))))
}

// checked returns the file that a base becomes, or what is wrong with it.
func checked(object client.Object) (file string, content []byte, reason string) {
	data, key := DataOf(object), ""
	for key, content = range data {
	}
	file = "base-" + object.GetName() + path.Ext(key)
	position := v1alpha1.BasePosition(object.GetLabels()[v1alpha1.BaseLabel])
	switch {
	case len(data) != 1:
		return file, nil, fmt.Sprintf("has %d keys; give it one, whose extension its file gets", len(data))
	case len(content) == 0:
		return file, nil, "is empty; give its key a content"
	case len(content) > configuration.MaxBytes:
		return file, nil, fmt.Sprintf("has more than %d bytes; shorten it", configuration.MaxBytes)
	case len(file) > longestFile:
		return file, nil, "the extension of its key is too long; shorten it"
	case !isPosition(position):
		return file, nil, fmt.Sprintf("the label %s is neither %s nor %s; set it to one of them",
			v1alpha1.BaseLabel, v1alpha1.BaseFirst, v1alpha1.BaseLast)
	}
	if extension := path.Ext(key); extension == ".yaml" || extension == ".yml" {
		if err := configuration.CheckPart(content); err != nil {
			return file, nil, fmt.Sprintf("key %q: %v", key, err)
		}
	}
	return file, content, ""
}

// DataOf returns the data of a ConfigMap or Secret.
func DataOf(object client.Object) map[string][]byte {
	data := map[string][]byte{}
	switch whole := object.(type) {
	case *corev1.ConfigMap:
		for key, text := range whole.Data {
			data[key] = []byte(text)
		}
		maps.Copy(data, whole.BinaryData)
	case *corev1.Secret:
		return whole.Data
	}
	return data
}
