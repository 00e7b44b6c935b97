package cache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

const (
	// maxValues is how many values the spec of a Collector may have: texts, numbers, lists and mappings. maxText is how many bytes their
	// texts may have. A configuration and further files take at most three quarters of that.
	maxValues, maxText = 4096, 1 << 20

	// maxFinalizers is how many finalizers a Collector may have.
	maxFinalizers = 32

	// maxMarks is how many labels and annotations the informer cache keeps of a Collector, and longestMark how long they may be.
	maxMarks, longestMark = 64, 1024

	// oversizedAnnotation is where the informer cache keeps the name of a field that made a spec too large, and finalizersAnnotation that it
	// does not have all finalizers. The API server accepts no such names from anybody.
	oversizedAnnotation, finalizersAnnotation = "/oversized", "/finalizers"

	// changerAnnotation is where the informer cache keeps who was the last to change the spec, and longestChanger how many letters of it.
	changerAnnotation, longestChanger = "/changer", 128

	// UninstallFinalizer is the stock reconciler's.
	UninstallFinalizer = "uninstall-helm-release"
)

// size is how many values something has, and how many bytes of text.
type size struct{ values, text int }

func sizeOf(value any) size {
	sum := size{values: 1}
	add := func(part size) { sum.values, sum.text = sum.values+part.values, sum.text+part.text }
	switch value := value.(type) {
	case string:
		sum.text = len(value)
	case []any:
		for _, item := range value {
			add(sizeOf(item))
		}
	case map[string]any:
		for key, item := range value {
			sum.text += len(key)
			add(sizeOf(item))
		}
	}
	return sum
}

func (s size) isTooLarge() bool { return s.values > maxValues || s.text > maxText }

// CheckSize demands of a Collector, as the informer cache or as the API server has it, that its spec is not too large to be rendered. The
// error is a *configuration.Error.
func CheckSize(collector *unstructured.Unstructured) error {
	field := collector.GetAnnotations()[oversizedAnnotation]
	if spec, _ := collector.Object["spec"].(map[string]any); field == "" && sizeOf(spec).isTooLarge() {
		field = largest(spec)
	}
	if field == "" {
		return nil
	}
	return &configuration.Error{Field: "spec." + field, Reason: fmt.Sprintf(
		"most of a spec that has more than %d values or %d bytes of text; shorten it", maxValues, maxText)}
}

// ChangerOf returns who has changed the spec of a Collector, as the informer cache or as the API server has it: the user, where a policy
// stamps who it was, or the field manager. It is fit for a line of text.
func ChangerOf(collector client.Object) string {
	annotations := collector.GetAnnotations()
	if known := annotations[changerAnnotation]; known != "" {
		return known
	}
	found := annotations[v1alpha1.ChangedByAnnotation]
	if manager := managedfields.LatestOf(collector.GetManagedFields(), "f:spec"); found == "" && manager != "" {
		found = manager + " (field manager)"
	}
	letters := []rune(strings.Map(func(letter rune) rune {
		if unicode.IsPrint(letter) {
			return letter
		}
		return '?'
	}, found))
	return string(letters[:min(len(letters), longestChanger)])
}

// CheckFinalizers demands that the informer cache has all finalizers of a Collector. The error is a *configuration.Error.
func CheckFinalizers(collector client.Object) error {
	if _, isCut := collector.GetAnnotations()[finalizersAnnotation]; !isCut {
		return nil
	}
	return &configuration.Error{Field: "metadata.finalizers", Reason: fmt.Sprintf("more than %d; remove some", maxFinalizers)}
}

// largest returns the field with most values, or with most text of those that have as many.
func largest(spec map[string]any) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(spec)), func(a, b string) int {
		of, than := sizeOf(spec[a]), sizeOf(spec[b])
		return max(of.values*(maxText/maxValues), of.text) - max(than.values*(maxText/maxValues), than.text)
	})
}

// bound takes out of a Collector what would fill the informer cache, and nothing that the operator needs.
func bound(collector *unstructured.Unstructured) {
	changer := ChangerOf(collector)
	collector.SetManagedFields(nil)
	collector.SetOwnerReferences(nil)
	collector.SetLabels(boundMarks(collector.GetLabels()))
	annotations := boundMarks(collector.GetAnnotations())
	delete(annotations, v1alpha1.ChangedByAnnotation)
	mark := func(name, value string) {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = cmp.Or(annotations[name], value)
	}
	if changer != "" {
		mark(changerAnnotation, changer)
	}
	// The operator's own comes on top of as many as there may be.
	if all := collector.GetFinalizers(); len(all) > maxFinalizers+1 || len(all) > maxFinalizers && !slices.Contains(all, UninstallFinalizer) {
		kept := boundedFinalizers(all)
		if slices.Contains(all, UninstallFinalizer) && !slices.Contains(kept, UninstallFinalizer) {
			kept = append(kept, UninstallFinalizer)
		}
		collector.SetFinalizers(kept)
		mark(finalizersAnnotation, "cut")
	}
	spec, _ := collector.Object["spec"].(map[string]any)
	for sizeOf(spec).isTooLarge() {
		field := largest(spec)
		delete(spec, field)
		mark(oversizedAnnotation, field)
	}
	collector.SetAnnotations(annotations)
}

// boundMarks returns labels or annotations without long ones, and only those of the operator if there are many.
func boundMarks(all map[string]string) map[string]string {
	isMany := len(all) > maxMarks
	maps.DeleteFunc(all, func(key, value string) bool {
		isOurs := strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") || strings.HasPrefix(key, "/")
		return len(value) > longestMark || isMany && !isOurs
	})
	if len(all) > maxMarks || len(all) == 0 { // no object needs as many of the operator's own
		return nil
	}
	return all
}
