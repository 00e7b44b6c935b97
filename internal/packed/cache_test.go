package packed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// initialEventsEnd is what an API server says after the objects that there were when the watch began.
const initialEventsEnd = `{"type": "BOOKMARK", "object": {"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}}`

// newCache returns a cache that has one Deployment, indexed by its replicas.
func newCache(t *testing.T) cache.Cache {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`, deployment)
		fmt.Fprint(w, initialEventsEnd)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(deployments, meta.RESTScopeNamespace)
	c, err := NewCache(&rest.Config{Host: server.URL}, cache.Options{HTTPClient: server.Client(), Mapper: kinds})
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(deployments)
	if err := c.IndexField(t.Context(), obj, "replicas", replicas); err != nil {
		t.Fatal(err)
	}
	go c.Start(t.Context()) //nolint:errcheck // the test looks whether it starts
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
	return c
}

func replicas(obj client.Object) []string {
	var fields struct {
		Spec struct {
			Replicas json.Number `json:"replicas"`
		} `json:"spec"`
	}
	if err := Read(obj.(*unstructured.Unstructured), &fields); err != nil {
		return []string{err.Error()}
	}
	return []string{fields.Spec.Replicas.String()}
}

func TestReads(t *testing.T) {
	c := newCache(t)
	get := func(t *testing.T, opts ...client.GetOption) *unstructured.Unstructured {
		t.Helper()
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(deployments)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "gateway"}, obj, opts...); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	list := func(t *testing.T, opts ...client.ListOption) *unstructured.Unstructured {
		t.Helper()
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(deployments.GroupVersion().WithKind("DeploymentList"))
		if err := c.List(t.Context(), found, append(opts, client.MatchingFields{"replicas": "2"})...); err != nil {
			t.Fatal(err)
		}
		if len(found.Items) != 1 {
			t.Fatalf("found %d objects", len(found.Items))
		}
		return &found.Items[0]
	}
	whole := parse(t, deployment)
	packed := transform(t, parse(t, deployment))
	tests := map[string]struct {
		read func(*testing.T) *unstructured.Unstructured
		want *unstructured.Unstructured
	}{
		"Get gives it whole": {
			read: func(t *testing.T) *unstructured.Unstructured { t.Helper(); return get(t) }, want: whole,
		},
		"Get without a copy gives it whole": {
			read: func(t *testing.T) *unstructured.Unstructured { t.Helper(); return get(t, client.UnsafeDisableDeepCopy) }, want: whole,
		},
		"List gives it whole": {
			read: func(t *testing.T) *unstructured.Unstructured { t.Helper(); return list(t) }, want: whole,
		},
		"List without a copy gives it whole": {
			read: func(t *testing.T) *unstructured.Unstructured {
				t.Helper()
				return list(t, client.UnsafeDisableDeepCopy)
			}, want: whole,
		},
		"Get of what is kept": {
			read: func(t *testing.T) *unstructured.Unstructured { t.Helper(); return get(t, Raw) }, want: packed,
		},
		"List of what is kept": {
			read: func(t *testing.T) *unstructured.Unstructured { t.Helper(); return list(t, Raw) }, want: packed,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // what the first reader does is not seen by the second
				got := test.read(t)
				if diff := cmp.Diff(test.want.Object, got.Object); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				spoil(got.Object)
			}
		})
	}
}

// spoil changes all that value has.
func spoil(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			spoil(field)
			value[name] = "spoiled"
		}
	case []any:
		for i, item := range value {
			spoil(item)
			value[i] = "spoiled"
		}
	}
}
