package once

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const collectorObjects = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: gateway}
---
apiVersion: v1
kind: Service
metadata: {name: gateway}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway}
spec: {template: {spec: {containers: [{name: collector}]}}}
---
apiVersion: example.com/v1
kind: Monitor
metadata: {name: gateway}
`

func TestWhatPodsNeedIsCreatedTogetherAndBeforeThem(t *testing.T) {
	tests := map[string]struct {
		refused, err string
		after        []string // what is created after the first two
	}{
		"all goes well":          {after: []string{"deployments", "monitors"}},
		"one of them is refused": {refused: "services", err: "no services here"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var mutex sync.Mutex
			first, both := map[string]bool{}, make(chan struct{})
			var after []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
				w.Header().Set("Content-Type", "application/json")
				mutex.Lock()
				if resource != "serviceaccounts" && resource != "services" {
					after = append(after, resource)
				} else if first[resource] = true; len(first) == 2 {
					close(both)
				}
				mutex.Unlock()
				select {
				case <-both: // none is answered before both are there
				case <-time.After(2 * time.Second):
					t.Errorf("%s came alone", resource)
				}
				if resource == test.refused {
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no %s here"}`, resource)
					return
				}
				fmt.Fprint(w, `{"kind":"Service","apiVersion":"v1","metadata":{"name":"gateway","resourceVersion":"1"}}`)
			}))
			t.Cleanup(server.CloseClientConnections)
			c := newKubeClient()
			c.config.Host = server.URL
			c.Log = func(string, ...any) {}
			kinds := c.kinds.(*meta.DefaultRESTMapper)
			kinds.Add(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, meta.RESTScopeNamespace)
			kinds.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Monitor"}, meta.RESTScopeNamespace)
			resources, err := c.Build(strings.NewReader(collectorObjects), false)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Create(resources)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
			if !slices.Equal(after, test.after) {
				t.Errorf("created %q after what pods need, want %q", after, test.after)
			}
		})
	}
}
