package capabilities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	monitors = "monitoring.coreos.com/v1"
	metrics  = "metrics.k8s.io/v1beta1"
)

var errDown = errors.New("connection refused")

// cluster answers as the API server does, and counts how often it is asked.
type cluster struct {
	discovery.ServerResourcesInterface
	mutex   sync.Mutex
	version string
	kinds   map[string][]string // by group and version
	down    string              // a group and version whose server is down
	err     error
	delay   time.Duration // of answers
	asked   int
}

func newCluster() *cluster {
	return &cluster{version: "v1.35.4", kinds: map[string][]string{"v1": {"Service", "Secret"}, metrics: {"PodMetrics"}}}
}

func (c *cluster) ServerVersion() (*version.Info, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return &version.Info{Major: "1", Minor: "35", GitVersion: c.version}, c.err
}

func (c *cluster) ServerGroupsAndResources() (groups []*metav1.APIGroup, resources []*metav1.APIResourceList, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.asked++
	if c.delay > 0 {
		<-time.After(c.delay)
	}
	for name, kinds := range c.kinds {
		if name == c.down {
			group, _ := schema.ParseGroupVersion(name)
			err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{group: errDown}}
			continue
		}
		groups = append(groups, &metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: name}}})
		list := &metav1.APIResourceList{GroupVersion: name}
		for _, kind := range kinds {
			list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
		}
		resources = append(resources, list)
	}
	return groups, resources, err
}

// logged is what a Cache has logged.
type logged []string

func newCache(cluster *cluster) (*Cache, *logged) {
	lines := &logged{}
	log := funcr.New(func(_, args string) { *lines = append(*lines, args) }, funcr.Options{})
	return &Cache{client: cluster, log: log}, lines
}

// config returns Helm's configuration for a pass.
func config(t *testing.T, cache *Cache) (*action.Configuration, error) {
	t.Helper()
	return cache.ActionConfigs(configs{}).ActionConfigFor(t.Context(), &unstructured.Unstructured{})
}

func capabilitiesOf(t *testing.T, cache *Cache) *chartutil.Capabilities {
	t.Helper()
	config, err := config(t, cache)
	if err != nil {
		t.Fatal(err)
	}
	return config.Capabilities
}

// configs gives configurations that cannot ask the API server for anything.
type configs struct{ helmclient.ActionConfigGetter }

func (configs) ActionConfigFor(context.Context, client.Object) (*action.Configuration, error) {
	return &action.Configuration{}, nil
}

func TestTheClusterIsAskedOnceForAllPasses(t *testing.T) {
	cluster := newCluster()
	cache, _ := newCache(cluster)
	first, err := config(t, cache)
	if err != nil {
		t.Fatal(err)
	}
	var passes sync.WaitGroup
	for range 20 {
		passes.Go(func() {
			if config, err := config(t, cache); err != nil || config.Capabilities != first.Capabilities {
				t.Errorf("got %v, %v", config.Capabilities, err)
			}
		})
	}
	passes.Wait()
	if cluster.asked != 1 {
		t.Errorf("the API server was asked %d times", cluster.asked)
	}
	want := []string{metrics, metrics + "/PodMetrics", "v1", "v1/Secret", "v1/Service"}
	if got := first.Capabilities; !slices.Equal(got.APIVersions, want) || got.KubeVersion.String() != "v1.35.4" || got.KubeVersion.Minor != "35" {
		t.Errorf("got %+v", got)
	}
}

func TestPassesThatNeedTheFirstAnswerShareIt(t *testing.T) {
	cluster := newCluster()
	cluster.delay = 50 * time.Millisecond // in which all get to wait
	cache, _ := newCache(cluster)
	var passes sync.WaitGroup
	for range 20 {
		passes.Go(func() {
			if got := cache.Version(t.Context()); got != 1 {
				t.Errorf("version %d", got)
			}
		})
	}
	passes.Wait()
	if cluster.asked != 1 {
		t.Errorf("the API server was asked %d times", cluster.asked)
	}
}

func TestAFailedFirstAnswerIsNotKept(t *testing.T) {
	cluster := newCluster()
	cluster.err = errDown
	cache, _ := newCache(cluster)
	want := "find out what the cluster offers: read the version of Kubernetes: connection refused"
	if _, err := config(t, cache); fmt.Sprint(err) != want || !errors.Is(err, errDown) || cache.Version(t.Context()) != 0 {
		t.Errorf("got %v", err)
	}
	cluster.err = nil
	if _, err := config(t, cache); err != nil {
		t.Error(err)
	}
}

func TestChangesAreSeen(t *testing.T) {
	tests := map[string]struct {
		happens func(*cluster)
		changed bool
		has     []string // what Helm is told of, and
		hasNot  []string
		logs    string // a part of the last line
	}{
		"nothing happens": {
			happens: func(*cluster) {},
		},
		"a kind appears": {
			happens: func(c *cluster) { c.kinds[monitors] = []string{"ServiceMonitor"} },
			changed: true,
			has:     []string{monitors, monitors + "/ServiceMonitor"},
			logs:    `"appeared"="monitoring.coreos.com/v1, monitoring.coreos.com/v1/ServiceMonitor" "vanished"=""`,
		},
		"a kind vanishes": {
			happens: func(c *cluster) { c.kinds["v1"] = []string{"Service"} },
			changed: true,
			has:     []string{"v1/Service"},
			hasNot:  []string{"v1/Secret"},
			logs:    `"appeared"="" "vanished"="v1/Secret"`,
		},
		"many kinds appear": {
			happens: func(c *cluster) { c.kinds["example.com/v1"] = []string{"A", "B", "C", "D", "E"} },
			changed: true,
			logs:    `"appeared"="example.com/v1, example.com/v1/A, example.com/v1/B, example.com/v1/C and 2 others"`,
		},
		"Kubernetes is upgraded": {
			happens: func(c *cluster) { c.version = "v1.36.0" },
			changed: true,
			logs:    `"kubernetes"="v1.36.0"`,
		},
		"the API server is down": {
			happens: func(c *cluster) { c.err = errDown; clear(c.kinds) },
			has:     []string{metrics + "/PodMetrics", "v1/Secret"},
			logs:    "cannot ask for all that the cluster offers",
		},
		"the server of an aggregated API is down": {
			happens: func(c *cluster) { c.down = metrics },
			has:     []string{metrics, metrics + "/PodMetrics", "v1/Secret"},
			logs:    "cannot ask for all that the cluster offers",
		},
		"the server of an aggregated API is down when a kind appears": {
			happens: func(c *cluster) { c.down, c.kinds[monitors] = metrics, []string{"ServiceMonitor"} },
			changed: true,
			has:     []string{metrics + "/PodMetrics", monitors + "/ServiceMonitor"},
			logs:    `"vanished"=""`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newCluster()
				cache, lines := newCache(cluster)
				calls := 0
				cache.listeners = append(cache.listeners, func(context.Context) { calls++ })
				start(t, cache)
				before, version := capabilitiesOf(t, cache), cache.Version(t.Context())
				test.happens(cluster)
				time.Sleep(2*interval + time.Second) //nolint:forbidigo // of the bubble's clock
				synctest.Wait()

				after := capabilitiesOf(t, cache)
				for what, changed := range map[string]bool{
					"capabilities": after != before, "version": cache.Version(t.Context()) != version, "listener": calls == 1,
				} {
					if changed != test.changed {
						t.Errorf("changed by its %s: %t", what, changed)
					}
				}
				for _, api := range test.has {
					if !after.APIVersions.Has(api) {
						t.Errorf("%s is not there", api)
					}
				}
				for _, api := range test.hasNot {
					if after.APIVersions.Has(api) {
						t.Errorf("%s is there", api)
					}
				}
				last := strings.Join((*lines)[max(0, len(*lines)-1):], "")
				if !strings.Contains(last, test.logs) || test.logs == "" && last != "" {
					t.Errorf("logged %q", *lines)
				}
			})
		})
	}
}

func TestAFailureIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newCluster()
		cache, lines := newCache(cluster)
		start(t, cache)
		capabilitiesOf(t, cache)
		for i, err := range []error{errDown, errDown, errDown, errors.New("timeout"), nil, nil} {
			cluster.err = err
			time.Sleep(interval) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			if want := []int{1, 1, 1, 2, 3, 3}[i]; len(*lines) != want {
				t.Errorf("after %d polls, of which the last ended with %v: %q", i+1, err, *lines)
			}
		}
	})
}

// start starts the cache until the test ends.
func start(t *testing.T, cache *Cache) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- cache.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
