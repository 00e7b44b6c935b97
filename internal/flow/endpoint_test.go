package flow

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Each generation of the spec has another port.
func TestAPodIsAskedWhereItsRevisionHasItsMetrics(t *testing.T) {
	of := func(generation, deployed int64, template any) *unstructured.Unstructured {
		made := collectorWith("a", map[string]any{"port": 8000 + generation})
		made.SetGeneration(generation)
		made.Object["status"] = map[string]any{
			"canary": map[string]any{}, "deployedRelease": map[string]any{"generation": deployed, "template": template},
		}
		return made
	}
	for name, row := range map[string]struct {
		looks  []*unstructured.Unstructured
		stamps [2]string // of two pods
		want   string    // where they are asked at the last look
	}{
		"while a change proves itself or is refused, each where its template has it": {
			[]*unstructured.Unstructured{of(1, 1, "old"), of(2, 1, "old"), of(3, 1, "old")}, [...]string{"old", "new"}, "10.0.0.1:8001 10.0.0.2:8003",
		},
		"once the change is deployed, where the spec has it": {
			[]*unstructured.Unstructured{of(1, 1, "old"), of(2, 1, "old"), of(2, 2, "new")}, [...]string{"old", "new"}, "10.0.0.1:8002 10.0.0.2:8002",
		},
		"when the operator has started since the change, where the spec has it": {
			[]*unstructured.Unstructured{of(2, 1, "old")}, [...]string{"old", "new"}, "10.0.0.1:8002 10.0.0.2:8002",
		},
		"when pods have no stamp, where the spec has it": {
			[]*unstructured.Unstructured{of(1, 1, "old"), of(2, 1, nil)}, [2]string{}, "10.0.0.1:8002 10.0.0.2:8002",
		},
	} {
		cached := pods{podOf(row.looks[0], "10.0.0.1"), podOf(row.looks[0], "10.0.0.2")}
		looked := &target{key: client.ObjectKeyFromObject(row.looks[0])}
		for i, stamp := range row.stamps {
			cached[i].Name, cached[i].UID = cached[i].Status.PodIP, types.UID(cached[i].Status.PodIP)
			cached[i].Annotations = map[string]string{postrender.TemplateAnnotation: stamp}
			looked.pods = append(looked.pods, client.ObjectKeyFromObject(&cached[i]))
		}
		w := newWatcher(nil, cached)
		var asked []string
		w.pages.Transport = roundTrip(func(r *http.Request) { asked = append(asked, r.URL.Host) })
		for _, collector := range row.looks {
			asked = nil
			w.Find = func(context.Context, client.ObjectKey) *unstructured.Unstructured { return collector }
			w.lookAtOne(t.Context(), looked)
		}
		slices.Sort(asked)
		if got := strings.Join(asked, " "); got != row.want {
			t.Errorf("%s: asked %s, want %s", name, got, row.want)
		}
	}
}
