package inventory

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

func readCollector(t *testing.T, name string, conditions int) *unstructured.Unstructured {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `{"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "metadata": {"name": %q, "generation": 2,
		"managedFields": [{"manager": "kubectl"}]}, "spec": {"autoscaling": {"enabled": true}, "ports": [{"port": 4317}]},
		"status": {"replicas": 1.5, "nothing": null, "conditions": [{"type": "Ready", "message": %q}`, name, strings.Repeat("x", longText+1))
	for i := range conditions {
		fmt.Fprintf(&text, `, {"type": "%s-%d"}`, name, i)
	}
	text.WriteString("]}}")
	collector := &unstructured.Unstructured{}
	if err := collector.UnmarshalJSON([]byte(text.String())); err != nil {
		t.Fatal(err)
	}
	return collector
}

// readyOf returns the key and the value of the type of a Collector's first condition.
func readyOf(t *testing.T, strip toolscache.TransformFunc, collector *unstructured.Unstructured) (key, value string) {
	t.Helper()
	want := collector.DeepCopy()
	want.SetManagedFields(nil)
	stripped, err := strip(collector)
	if err != nil || !equality.Semantic.DeepEqual(stripped, want) {
		t.Fatalf("%v, %v; want, without an error, %v", stripped, err, want)
	}
	conditions, _, _ := unstructured.NestedSlice(stripped.(*unstructured.Unstructured).Object, "status", "conditions")
	for key, value := range conditions[0].(map[string]any) {
		if key == "type" {
			return key, value.(string)
		}
	}
	t.Fatal("there is no condition")
	return "", ""
}

func TestCollectorsInTheCacheShareTexts(t *testing.T) {
	strip := StripCollectors()
	key, value := readyOf(t, strip, readCollector(t, "a", 0))
	again, same := readyOf(t, strip, readCollector(t, "b", 2*manyTexts)) // more of its own than are shared
	if unsafe.StringData(key) != unsafe.StringData(again) || unsafe.StringData(value) != unsafe.StringData(same) {
		t.Error("two Collectors have the text of one condition twice")
	}
	late := &texts{known: map[string]any{}, own: map[string]any{}}
	if late.share(strings.Repeat("x", longText+1)); len(late.known)+len(late.own) != 0 {
		t.Error("a long text is remembered")
	}
	for i := range 2 * manyTexts {
		late.share(strconv.Itoa(i))
	}
	if len(late.known) != manyTexts {
		t.Errorf("%d texts are remembered, want %d", len(late.known), manyTexts)
	}
}

func TestACollectorInTheCacheHasEachTextOnce(t *testing.T) {
	strip := StripCollectors()
	readyOf(t, strip, readCollector(t, "first", manyTexts)) // all that are shared
	collector := readCollector(t, "at noon", 0)
	for _, kind := range []string{"Deployed", "Ready"} {
		at := strings.Clone("2026-01-02T12:00:00Z")
		if err := unstructured.SetNestedField(collector.Object, at, "status", kind); err != nil {
			t.Fatal(err)
		}
	}
	readyOf(t, strip, collector)
	status := collector.Object["status"].(map[string]any)
	if unsafe.StringData(status["Deployed"].(string)) != unsafe.StringData(status["Ready"].(string)) {
		t.Error("a Collector has a time twice")
	}
}

func TestTheLastKnownStateOfADeletedCollectorIsLeftAlone(t *testing.T) {
	gone := toolscache.DeletedFinalStateUnknown{Key: "a/b"}
	if kept, err := StripCollectors()(gone); err != nil || kept != any(gone) {
		t.Errorf("%v, %v", kept, err)
	}
}
