package cache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func listOf(count int, item any) []any {
	var all []any
	for range count {
		all = append(all, item)
	}
	return all
}

func TestALargeSpecIsRefusedAndNotKept(t *testing.T) {
	small := map[string]any{"mode": "daemonset", "collector": map[string]any{"configuration": strings.Repeat("x", 720<<10)}}
	variable := map[string]any{"name": "A", "value": "b"}
	for name, row := range map[string]struct {
		field string
		value any
		want  string // the field that is named
	}{
		"a thousand variables":            {"env", listOf(1000, variable), ""},
		"tens of thousands":               {"env", listOf(30000, variable), "env"},
		"deep in another field":           {"extraVolumes", []any{map[string]any{"projected": map[string]any{"sources": listOf(5000, "a")}}}, "extraVolumes"},
		"a long text":                     {"podAnnotations", map[string]any{"a": strings.Repeat("x", 800<<10)}, "podAnnotations"},
		"long names":                      {"nodeSelector", map[string]any{strings.Repeat("x", 800<<10): "a"}, "nodeSelector"},
		"a text that is not the longest":  {"podAnnotations", map[string]any{"a": strings.Repeat("x", 400<<10)}, "collector"},
		"a spec that is not even a field": {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{row.field: row.value}
			maps.Copy(spec, small)
			collector := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			want := ""
			if row.want != "" {
				want = "spec." + row.want + ": most of a spec that has more than 4096 values or 1048576 bytes of text; shorten it"
			}
			for _, state := range []string{"as the API server has it", "in the informer cache", "stripped again"} {
				if got := fmt.Sprint(CheckSize(collector)); got != want && (want != "" || got != "<nil>") {
					t.Errorf("%s: error %s, want %q", state, got, want)
				}
				kept, err := StripCollectors()(collector)
				if err != nil {
					t.Fatal(err)
				}
				collector, _ = kept.(*unstructured.Unstructured)
				if left := sizeOf(collector.Object["spec"]); left.isTooLarge() {
					t.Errorf("%s: %+v are kept", state, left)
				}
			}
			if mode, _, _ := unstructured.NestedString(collector.Object, "spec", "mode"); mode != "daemonset" {
				t.Errorf("mode %q is kept", mode)
			}
		})
	}
}

func TestMarksOfACollectorAreKeptUnlessTheyAreManyOrLong(t *testing.T) {
	many := map[string]string{"kube8.dev/ring": "0"}
	for i := range 100 {
		many[fmt.Sprint("example.com/", i)] = "a"
	}
	for name, row := range map[string]struct {
		annotations map[string]string
		want        int
	}{
		"few":        {map[string]string{"a": "b", "kube8.dev/paused": "true"}, 2},
		"a long one": {map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 2000), "a": "b"}, 1},
		"many":       {many, 1},
	} {
		collector := &unstructured.Unstructured{Object: map[string]any{}}
		collector.SetAnnotations(row.annotations)
		bound(collector)
		if got := collector.GetAnnotations(); len(got) != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestManyFinalizersAreRefusedAndNotKept(t *testing.T) {
	for name, row := range map[string]struct {
		before, count, after int
		want                 string
	}{
		"as many as there may be":                {0, 32, 33, "<nil>"},
		"more, the operator's last":              {33, 0, 3, "metadata.finalizers: more than 32; remove some"},
		"hundreds of thousands, and it is first": {0, 240000, 2, "metadata.finalizers: more than 32; remove some"},
	} {
		collector := &unstructured.Unstructured{Object: map[string]any{}}
		all := append(slices.Repeat([]string{"a/b"}, row.before), UninstallFinalizer)
		collector.SetFinalizers(append(all, slices.Repeat([]string{"a/b"}, row.count)...))
		for range 2 {
			bound(collector)
			got := collector.GetFinalizers()
			if len(got) != row.after || !slices.Contains(got, UninstallFinalizer) {
				t.Errorf("%s: %v are kept", name, got)
			}
			if err := fmt.Sprint(CheckFinalizers(collector)); err != row.want {
				t.Errorf("%s: error %s, want %s", name, err, row.want)
			}
		}
	}
}

func TestTheCacheKeepsWhoHasChangedTheSpecOfACollector(t *testing.T) {
	entry := func(manager, subresource, fields string, second int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: subresource, Time: &metav1.Time{Time: time.Unix(second, 0)},
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	spec, status := `{"f:spec":{"f:mode":{}}}`, `{"f:status":{"f:spec":{}}}`
	stamped, hidden := map[string]string{v1alpha1.ChangedByAnnotation: "alice"}, map[string]string{v1alpha1.ChangedByAnnotation: "alice"}
	for i := range 100 {
		hidden[fmt.Sprint("kube8.dev/", i)] = ""
	}
	for name, row := range map[string]struct {
		annotations map[string]string
		generation  int64
		entries     []metav1.ManagedFieldsEntry
		want        string
	}{
		"no manager is known":        {},
		"who created it":             {generation: 1, entries: []metav1.ManagedFieldsEntry{entry("flux", "", spec, 9)}, want: "flux (field manager)"},
		"one of two may have":        {generation: 1, entries: []metav1.ManagedFieldsEntry{entry("flux", "", spec, 9), entry("kubectl-edit", "", spec, 5)}},
		"an owner may not be latest": {generation: 2, entries: []metav1.ManagedFieldsEntry{entry("flux", "", spec, 9)}},
		"the account that the plugin marks": {
			generation: 7, annotations: map[string]string{v1alpha1.WrittenByAnnotation: "7 jane"}, want: "jane (kubectl collector)",
		},
		"the plugin, whose account is not known": {
			generation: 7, annotations: map[string]string{v1alpha1.WrittenByAnnotation: "7 "}, want: "(kubectl collector)",
		},
		"a mark of another generation": {generation: 8, annotations: map[string]string{v1alpha1.WrittenByAnnotation: "7 jane"}},
		"a policy rather than a mark": {generation: 7, want: "alice", annotations: map[string]string{
			v1alpha1.WrittenByAnnotation: "7 jane", v1alpha1.ChangedByAnnotation: "alice",
		}},
		"not who wrote the status or an annotation": {generation: 1, entries: []metav1.ManagedFieldsEntry{
			entry("kubectl-edit", "", spec, 5), entry("other", "status", spec, 7), entry("label", "", status, 8),
		}, want: "kubectl-edit (field manager)"},
		"the user, also among many marks": {annotations: hidden, entries: []metav1.ManagedFieldsEntry{entry("jane", "", spec, 9)}, want: "alice"},
		"a name in one short line": {
			annotations: map[string]string{v1alpha1.ChangedByAnnotation: "a\nb" + strings.Repeat("x", 2000)}, want: "a?b" + strings.Repeat("x", 125),
		},
		"the user, where a policy tells": {annotations: stamped, entries: []metav1.ManagedFieldsEntry{entry("flux", "", spec, 9)}, want: "alice"},
	} {
		collector := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
		collector.SetAnnotations(row.annotations)
		collector.SetManagedFields(row.entries)
		collector.SetGeneration(row.generation)
		if _, err := StripCollectors()(collector); err != nil {
			t.Fatal(err)
		}
		if got := ChangerOf(collector); got != row.want || len(collector.GetManagedFields()) > 0 {
			t.Errorf("%s: %q, want %q, with %d entries", name, got, row.want, len(collector.GetManagedFields()))
		}
	}
}
