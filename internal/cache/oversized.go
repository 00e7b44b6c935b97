package cache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

	// changerAnnotation is where the informer cache keeps who wrote the spec, and longestChanger how many letters of it.
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

// ChangerOf returns who wrote the spec of a Collector, as the informer cache or as the API server has it, or nothing if that is not known.
// It is fit for a line of text.
func ChangerOf(collector client.Object) string {
	annotations := collector.GetAnnotations()
	if known := annotations[changerAnnotation]; known != "" {
		return known
	}
	found := cmp.Or(annotations[v1alpha1.ChangedByAnnotation], writerOf(collector))
	letters := []rune(strings.Map(func(letter rune) rune {
		if unicode.IsPrint(letter) {
			return letter
		}
		return '?'
	}, found))
	return string(letters[:min(len(letters), longestChanger)])
}

// writerOf returns who wrote the present generation of a spec, where no policy tells: the kubectl plugin marks what it writes. The owners
// of fields say only who created a Collector. A client that removes fields owns nothing for it, so later the latest owner can be another.
func writerOf(collector client.Object) string {
	of, account, isMarked := strings.Cut(collector.GetAnnotations()[v1alpha1.WrittenByAnnotation], " ")
	manager := managedfields.OnlyOf(collector.GetManagedFields(), "f:spec")
	switch {
	case isMarked && of == strconv.FormatInt(collector.GetGeneration(), 10):
		return strings.TrimSpace(account + " (kubectl collector)")
	case collector.GetGeneration() == 1 && manager != "":
		return manager + " (field manager)"
	}
	return ""
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
	delete(annotations, v1alpha1.WrittenByAnnotation)
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
