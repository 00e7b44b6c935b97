package capabilities

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// A real client asks for groups and kinds together, and the API server says which of them are stale.
func TestThreeRequestsTellAll(t *testing.T) {
	var mutex sync.Mutex
	var requests []string
	group := func(name, version, kind string, freshness apidiscovery.DiscoveryFreshness) apidiscovery.APIGroupDiscovery {
		return apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Versions: []apidiscovery.APIVersionDiscovery{{Version: version, Freshness: freshness, Resources: []apidiscovery.APIResourceDiscovery{
				{Resource: "any", ResponseKind: &metav1.GroupVersionKind{Group: name, Version: version, Kind: kind}},
			}}},
		}
	}
	freshness := apidiscovery.DiscoveryFreshnessCurrent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		requests = append(requests, r.URL.Path)
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		var answer any
		switch r.URL.Path {
		case "/version":
			answer = version.Info{GitVersion: "v1.35.4"}
		case "/api":
			answer = apidiscovery.APIGroupDiscoveryList{Items: []apidiscovery.APIGroupDiscovery{group("", "v1", "Service", "Current")}}
		case "/apis":
			answer = apidiscovery.APIGroupDiscoveryList{Items: []apidiscovery.APIGroupDiscovery{
				group("metrics.k8s.io", "v1beta1", "PodMetrics", freshness),
			}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	cache, err := New(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}

	want := []string{metrics, metrics + "/PodMetrics", "v1", "v1/Service"}
	if got := capabilitiesOf(t, cache); !slices.Equal(got.APIVersions, want) {
		t.Errorf("got %q", got.APIVersions)
	}
	if want := []string{"/version", "/api", "/apis"}; !slices.Equal(requests, want) {
		t.Errorf("requests: %q", requests)
	}
	freshness = apidiscovery.DiscoveryFreshnessStale
	cache.doubted.Store(true)
	if got := capabilitiesOf(t, cache); !slices.Equal(got.APIVersions, want) {
		t.Errorf("got %q while the server of an aggregated API is down", got.APIVersions)
	}
}
