package cache

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

// readyOf strips a Collector, and returns the key and the value of the type of its condition.
func readyOf(t *testing.T, strip toolscache.TransformFunc, name string) (key, value string) {
	t.Helper()
	collector := &unstructured.Unstructured{}
	if err := collector.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector",
		"metadata": {"name": %q, "managedFields": [{"manager": "kubectl"}]}, "spec": {"ports": [{"port": 4317}]},
		"status": {"replicas": 1.5, "nothing": null, "conditions": [{"type": "Ready"}]}}`, name)); err != nil {
		t.Fatal(err)
	}
	want := collector.DeepCopy()
	want.SetManagedFields(nil)
	stripped, err := strip(collector)
	if err != nil || !equality.Semantic.DeepEqual(stripped, want) {
		t.Fatalf("%v, %v; want, without an error, %v", stripped, err, want)
	}
	conditions, _, _ := unstructured.NestedSlice(collector.Object, "status", "conditions")
	for key, value := range conditions[0].(map[string]any) {
		return key, value.(string)
	}
	return "", ""
}

func TestCollectorsInTheCacheShareTexts(t *testing.T) {
	strip := StripCollectors()
	key, value := readyOf(t, strip, "a")
	again, same := readyOf(t, strip, "b")
	if unsafe.StringData(key) != unsafe.StringData(again) || unsafe.StringData(value) != unsafe.StringData(same) {
		t.Error("two Collectors have the text of one condition twice")
	}
}

func TestACollectorInTheCacheTakesNoMoreMemoryThanItNeeds(t *testing.T) {
	const many = 1000
	strip, status := StripCollectors(), map[string]any{}
	for i := range 8 { // as many as a map has without a table
		status[strconv.Itoa(i)] = "text"
	}
	kept := make([]any, 0, many)
	bytesOf := func(made func(*unstructured.Unstructured) any) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range many {
			kept = append(kept, made(&unstructured.Unstructured{Object: map[string]any{"status": maps.Clone(status)}}))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return (after.HeapAlloc - before.HeapAlloc) / many
	}
	plain := bytesOf(func(collector *unstructured.Unstructured) any { return collector })
	stripped := bytesOf(func(collector *unstructured.Unstructured) any { in, _ := strip(collector); return in })
	if stripped > plain+plain/3 { // other tests allocate too; a map that has grown is more than half of it
		t.Errorf("a Collector takes %d bytes in the informer cache, and %d as it is read", stripped, plain)
	}
	runtime.KeepAlive(kept)
}

func TestFewTextsAreShared(t *testing.T) {
	known := map[string]any{}
	if share(strings.Repeat("x", longText+1), known); len(known) != 0 {
		t.Error("a long text is remembered")
	}
	for i := range 2 * manyTexts {
		share(strconv.Itoa(i), known)
	}
	if len(known) != manyTexts {
		t.Errorf("%d texts are remembered, want %d", len(known), manyTexts)
	}
}
