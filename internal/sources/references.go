package sources

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of what pods refer to, as they begin what is said of it.
const (
	secretKind    = "Secret/"
	configMapKind = "ConfigMap/"
)

// digestLength is how many digits of a digest are stamped on pods.
const digestLength = 16

// places are where a spec names what pods refer to, by its kind; * is each item of a list.
var places = map[string][]string{
	secretKind: {
		"env.*.valueFrom.secretKeyRef.name", "envFrom.*.secretRef.name",
		"initContainers.*.env.*.valueFrom.secretKeyRef.name", "initContainers.*.envFrom.*.secretRef.name",
		"extraContainers.*.env.*.valueFrom.secretKeyRef.name", "extraContainers.*.envFrom.*.secretRef.name",
		"extraVolumes.*.secret.secretName", "extraVolumes.*.projected.sources.*.secret.name",
	},
	configMapKind: {
		"env.*.valueFrom.configMapKeyRef.name", "envFrom.*.configMapRef.name",
		"initContainers.*.env.*.valueFrom.configMapKeyRef.name", "initContainers.*.envFrom.*.configMapRef.name",
		"extraContainers.*.env.*.valueFrom.configMapKeyRef.name", "extraContainers.*.envFrom.*.configMapRef.name",
		"extraVolumes.*.configMap.name", "extraVolumes.*.projected.sources.*.configMap.name",
	},
}

// References returns the names of the Secrets and ConfigMaps that the Collector's pods refer to, each with a digest of its
// content. The digest has the object's UID as its key, so that the data cannot be guessed without a right to read the object.
// running is the result of References for the pods that run. An object that the informer cache does not have keeps its digest
// of running: an object that goes, or loses its label, rolls no pod. unfollowed names such objects, each with the field that
// refers to it.
func (r *ReferenceReader) References(collector *unstructured.Unstructured, running string) (references string, unfollowed []string) {
	known := map[string]string{}
	for entry := range strings.FieldsSeq(running) {
		what, digest, _ := strings.Cut(entry, "=")
		known[what] = digest
	}
	var entries []string
	found := referred(collector)
	for _, what := range slices.Sorted(maps.Keys(found)) {
		digest := r.digest(collector.GetNamespace(), what)
		if digest == "" {
			kind, name, _ := strings.Cut(what, "/")
			unfollowed = append(unfollowed, fmt.Sprintf("%s %q in %s", kind, name, found[what]))
			digest = known[what]
		}
		if digest != "" {
			entries = append(entries, what+"="+digest)
		}
	}
	return strings.Join(entries, " "), unfollowed
}

// digest returns the digest of a Secret or ConfigMap, or nothing if the informer cache does not have it.
func (r *ReferenceReader) digest(namespace, what string) string {
	var object client.Object = &corev1.Secret{}
	if strings.HasPrefix(what, configMapKind) {
		object = &corev1.ConfigMap{}
	}
	_, name, _ := strings.Cut(what, "/")
	// It does not wait: the reconciler watches both kinds, and starts when the cache has them.
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := r.Cache.Get(context.Background(), key, object, client.UnsafeDisableDeepCopy); err != nil {
		return ""
	}
	return r.version(object)
}

// version tells versions of the data of a Secret or ConfigMap apart.
func (r *ReferenceReader) version(object client.Object) string {
	sum := hmac.New(sha256.New, []byte(object.GetUID()))
	sum.Write([]byte(r.DataDigest(object)))
	return hex.EncodeToString(sum.Sum(nil))[:digestLength]
}

// referred returns what a Collector's pods refer to, by kind and name, with the field of the spec. Volumes are left out whose
// changes the collector reads by itself.
func referred(collector *unstructured.Unstructured) map[string]string {
	spec, _ := collector.Object["spec"].(map[string]any)
	reloaded, _ := spec["reloadedVolumes"].([]any)
	found := map[string]string{}
	for kind, paths := range places {
		for _, path := range paths {
			steps := strings.Split(path, ".")
			items, _ := spec[steps[0]].([]any)
			items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
				volume, _ := item.(map[string]any)
				return steps[0] == "extraVolumes" && slices.Contains(reloaded, volume["name"])
			})
			each(items, steps[1:], func(name string) {
				if found[kind+name] == "" {
					found[kind+name] = steps[0]
				}
			})
		}
	}
	return found
}

// each calls do with the texts at a path.
func each(value any, path []string, do func(string)) {
	if text, is := value.(string); is && text != "" && len(path) == 0 {
		do(text)
	} else if list, is := value.([]any); is && len(path) > 0 {
		for _, item := range list {
			each(item, path[1:], do)
		}
	} else if fields, is := value.(map[string]any); is && len(path) > 0 {
		each(fields[path[0]], path[1:], do)
	}
}
