package owned

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	services = meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Version: "v1", Resource: "services"},
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"},
		Scope:            meta.RESTScopeNamespace,
	}
	monitors = meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"},
		GroupVersionKind: schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		Scope:            meta.RESTScopeNamespace,
	}
)

// object returns an object with the UID uid, controlled by whoever has the UID owner.
func object(kind schema.GroupVersionKind, uid, owner types.UID) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("tenant")
	obj.SetName("gateway")
	obj.SetUID(uid)
	if owner != "" {
		obj.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Collector", Name: "gateway", UID: owner, Controller: new(true)}})
	}
	return obj
}

// cluster is an API server with at most one object, and a cache that may be behind it.
type cluster struct {
	client.Reader
	live, cached *unstructured.Unstructured
	requests     []string
}

// Get reads from the cache.
func (c *cluster) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.requests = append(c.requests, "cache")
	if c.cached == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	c.cached.DeepCopyInto(obj.(*unstructured.Unstructured))
	return nil
}

// RoundTrip answers as the API server.
func (c *cluster) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests = append(c.requests, request.Method)
	answer := func(code int, body any) (*http.Response, error) {
		text, err := json.Marshal(body)
		return &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
		}, err
	}
	if c.live == nil {
		return answer(http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{}, "gateway").Status())
	}
	if request.Method == http.MethodDelete {
		var options metav1.DeleteOptions
		if err := json.NewDecoder(request.Body).Decode(&options); err != nil {
			return nil, err
		}
		if *options.Preconditions.UID != c.live.GetUID() {
			return answer(http.StatusConflict, apierrors.NewConflict(schema.GroupResource{}, "gateway", nil).Status())
		}
		defer func() { c.live = nil }()
	}
	return answer(http.StatusOK, c.live)
}

func (c *cluster) info(mapping *meta.RESTMapping) *resource.Info {
	return &resource.Info{
		Client: &fake.RESTClient{
			NegotiatedSerializer: resource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer,
			GroupVersion:         mapping.GroupVersionKind.GroupVersion(),
			Client:               &http.Client{Transport: c},
		},
		Mapping: mapping, Namespace: "tenant", Name: "gateway", Object: object(mapping.GroupVersionKind, "", "ours"),
	}
}

func (c *cluster) kubeClient(t *testing.T) *kubeClient {
	t.Helper()
	collector := &unstructured.Unstructured{}
	collector.SetName("gateway")
	collector.SetNamespace("tenant")
	collector.SetUID("ours")
	return &kubeClient{ctx: t.Context(), lookup: lookup{cached: c}, collector: collector}
}

func TestDeleteLeavesOutWhatIsNotTheCollectors(t *testing.T) {
	service := services.GroupVersionKind
	tests := map[string]struct {
		live, cached *unstructured.Unstructured
		mapping      meta.RESTMapping
		requests     []string
		remains      bool
	}{
		"an object of the Collector": {
			live: object(service, "1", "ours"), cached: object(service, "1", "ours"), mapping: services,
			requests: []string{"cache", "DELETE"},
		},
		"one that the cache does not have": {
			live: object(service, "1", "ours"), mapping: services, requests: []string{"cache", "GET", "DELETE"},
		},
		"one that is gone": {
			mapping: services, requests: []string{"cache", "GET"},
		},
		"one that is gone, which the cache does not know yet": {
			cached: object(service, "1", "ours"), mapping: services, requests: []string{"cache", "DELETE"},
		},
		"somebody else's": {
			live: object(service, "2", ""), mapping: services, requests: []string{"cache", "GET"}, remains: true,
		},
		"somebody else's in its place, which the cache does not know yet": {
			live: object(service, "2", ""), cached: object(service, "1", "ours"), mapping: services,
			requests: []string{"cache", "DELETE", "GET"}, remains: true,
		},
		"another one of the Collector's in its place, which the cache does not know yet": {
			live: object(service, "2", "ours"), cached: object(service, "1", "ours"), mapping: services,
			requests: []string{"cache", "DELETE", "GET", "DELETE"},
		},
		"one of a kind that the cluster need not have, for which the cache would wait": {
			live: object(monitors.GroupVersionKind, "1", "ours"), mapping: monitors, requests: []string{"GET", "DELETE"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := &cluster{live: test.live, cached: test.cached}
			_, errs := cluster.kubeClient(t).Delete(kube.ResourceList{cluster.info(&test.mapping)})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if diff := cmp.Diff(test.requests, cluster.requests); diff != "" {
				t.Error(diff)
			}
			if remains := cluster.live != nil; remains != test.remains {
				t.Errorf("remains: %t, want %t", remains, test.remains)
			}
		})
	}
}

func TestUpdateIsPinnedToTheObjectsThatWereVerified(t *testing.T) {
	service := services.GroupVersionKind
	for name, test := range map[string]struct {
		live *unstructured.Unstructured
		uid  types.UID
		fail bool
	}{
		"an object of the Collector is not to be patched in another's place": {live: object(service, "1", "ours"), uid: "1"},
		"an object that is not there is created":                             {},
		"an object of somebody else's":                                       {live: object(service, "1", ""), fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &cluster{live: test.live}
			info := cluster.info(&services)
			there, err := cluster.kubeClient(t).pin(kube.ResourceList{info})
			if (err != nil) != test.fail {
				t.Fatalf("got %v", err)
			}
			if got := info.Object.(*unstructured.Unstructured).GetUID(); got != test.uid {
				t.Errorf("pinned to %q, want %q", got, test.uid)
			}
			if slices.Contains(there, info) != (test.uid != "") {
				t.Errorf("there: %v", there)
			}
		})
	}
}

func TestKeepReplicas(t *testing.T) {
	for name, test := range map[string]struct{ original, target, want map[string]any }{
		"an autoscaler takes over": {
			original: map[string]any{"replicas": int64(3), "paused": true}, target: map[string]any{"paused": true},
			want: map[string]any{"paused": true},
		},
		"the number is changed": {
			original: map[string]any{"replicas": int64(3)}, target: map[string]any{"replicas": int64(2)},
			want: map[string]any{"replicas": int64(3)},
		},
		"there was no number": {
			original: map[string]any{"paused": true}, target: map[string]any{}, want: map[string]any{"paused": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			workload := func(spec map[string]any) kube.ResourceList {
				return kube.ResourceList{{Mapping: &services, Name: "gateway", Object: &unstructured.Unstructured{
					Object: map[string]any{"spec": runtime.DeepCopyJSON(spec)},
				}}}
			}
			original := workload(test.original)
			keepReplicas(original, workload(test.target))
			if diff := cmp.Diff(test.want, original[0].Object.(*unstructured.Unstructured).Object["spec"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
