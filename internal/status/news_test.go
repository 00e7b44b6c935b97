package status_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/status"
)

func TestWhichChangesOfACollectorStartAReconcile(t *testing.T) {
	const waits, turn = `{type: UpdatePending, status: "True", reason: Waiting}`, `{type: UpdatePending, status: "False", reason: RollingOut}`
	for name, row := range map[string]struct {
		before, after string // the conditions
		change        func(*unstructured.Unstructured)
		want          bool
	}{
		"a status that says something else": {"", `{type: Ready, status: "False", message: trace 2}`, func(*unstructured.Unstructured) {}, false},
		"nothing":                           {waits, waits, func(*unstructured.Unstructured) {}, false},
		"another version, and who has written it": {"", "", func(c *unstructured.Unstructured) {
			c.SetResourceVersion("9")
			c.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kube8-operator", Subresource: "status"}})
		}, false},
		"a change that begins to wait for its turn":      {"", waits, func(*unstructured.Unstructured) {}, false},
		"a change whose turn has come":                   {waits, turn, func(*unstructured.Unstructured) {}, true},
		"a change whose turn has come at once":           {"", turn, func(*unstructured.Unstructured) {}, true},
		"a change that is still on its way":              {turn, turn, func(*unstructured.Unstructured) {}, false},
		"a change that has come":                         {turn, "", func(*unstructured.Unstructured) {}, false},
		"another spec":                                   {"", "", func(c *unstructured.Unstructured) { c.SetGeneration(4) }, true},
		"a label":                                        {"", "", func(c *unstructured.Unstructured) { c.SetLabels(map[string]string{"a": "b"}) }, true},
		"an annotation":                                  {"", "", func(c *unstructured.Unstructured) { c.SetAnnotations(map[string]string{"a": "b"}) }, true},
		"a finalizer":                                    {"", "", func(c *unstructured.Unstructured) { c.SetFinalizers([]string{cache.UninstallFinalizer}) }, true},
		"a deletion":                                     {"", "", func(c *unstructured.Unstructured) { c.SetDeletionTimestamp(new(metav1.Now())) }, true},
		"another Collector of the name":                  {"", "", func(c *unstructured.Unstructured) { c.SetUID("2") }, true},
		"another spec, and a status that says less then": {waits, "", func(c *unstructured.Unstructured) { c.SetGeneration(4) }, true},
	} {
		before, after := collector(t, "conditions: ["+row.before+"]"), collector(t, "conditions: ["+row.after+"]")
		row.change(after)
		if got := status.News.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
			t.Errorf("%s: %t, want %t", name, got, row.want)
		}
	}
}
