// Package capabilities has Helm know what the cluster offers without asking before each action.
//
// It decorates Helm's configuration. A chart can test for APIs, as this one has a ServiceMonitor only where the cluster
// knows the kind, so Helm asks for all of them and for the version of Kubernetes, again and again. That is three
// requests, and parsing the answers is much of what a pass costs. A Cache asks once for all passes, then every 30 s, and
// has a pass made over every Collector when something has changed. It also asks as soon as a request shows that a kind
// has gone.
//
// It does not watch CRDs, because that takes rights in the whole cluster, which an operator for some namespaces does not
// have. What APIs there are, every account may ask.
package capabilities

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// interval is how long a change can go unnoticed, to which Watch adds a little. Nobody waits longer than a minute for
// the ServiceMonitor of a CRD that has appeared.
const interval = 30 * time.Second

// Cache is what the cluster offers. It reads that when it is first needed; it is a manager.Runnable to stay up to date.
type Cache struct {
	client api
	log    logr.Logger

	current atomic.Pointer[known]
	doubted atomic.Bool // whether current is known to be behind

	asking    sync.Mutex // held while the API server is asked; of the next two
	failure   string     // of the last time, or ""
	listeners []func(context.Context)
}

// known is one answer of the API server. It is not changed.
type known struct {
	capabilities *chartutil.Capabilities
	version      int
}

// api is the part of a discovery client that is used.
type api interface {
	discovery.ServerVersionInterface
	discovery.ServerResourcesInterface
}

// New returns the Cache of the cluster of cfg.
func New(cfg *rest.Config, httpClient *http.Client) (*Cache, error) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	return &Cache{client: client, log: ctrl.Log.WithName("capabilities")}, nil
}

// Start asks the API server every 30 s until ctx ends. The manager starts it with the reconcilers, in the leader.
func (c *Cache) Start(ctx context.Context) error {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			c.asking.Lock()
			_, _ = c.ask(ctx) // which has logged the error
			c.asking.Unlock()
		}
	}
}

// Version returns a number that is another whenever what the cluster offers is, or 0 if that cannot be read.
func (c *Cache) Version(ctx context.Context) int {
	current, err := c.get(ctx)
	if err != nil {
		return 0
	}
	return current.version
}

// get returns what is known, and asks only if that is nothing, or in doubt. It returns an error if nothing is known.
func (c *Cache) get(ctx context.Context) (*known, error) {
	if current := c.current.Load(); current != nil && !c.doubted.Load() {
		return current, nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if current := c.current.Load(); current != nil && !c.doubted.Load() { // another one has asked meanwhile
		return current, nil
	}
	return c.ask(ctx)
}

// ask asks the API server. If that fails, what was known goes on to count.
func (c *Cache) ask(ctx context.Context) (*known, error) {
	c.doubted.Store(false) // not afterwards: the answer may be older than a doubt that comes up meanwhile
	last := c.current.Load()
	if last == nil {
		last = &known{}
	}
	found, err := read(c.client, last.capabilities)
	c.report(err)
	switch {
	case found == nil && last.capabilities == nil:
		return nil, err
	case found == nil, last.capabilities != nil && isSame(last.capabilities, found):
		return last, nil
	}
	next := &known{capabilities: found, version: last.version + 1}
	c.current.Store(next)
	if last.capabilities != nil {
		c.logChange(last.capabilities, found)
		for _, listener := range c.listeners {
			listener(ctx)
		}
	}
	return next, nil
}

// report logs an error when it is a new one, or has gone.
func (c *Cache) report(err error) {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	switch failure {
	case c.failure:
	case "":
		c.log.Info("can ask again for all that the cluster offers")
	default:
		c.log.Error(err, "cannot ask for all that the cluster offers; what was known of the rest goes on to count")
	}
	c.failure = failure
}

// HTTPClient decorates the client by which Helm works on objects: a kind that was there, and of which the API server now
// knows nothing, has the Cache ask before it is used again.
func (c *Cache) HTTPClient(next *http.Client) *http.Client {
	decorated := *next
	decorated.Transport = transport{next: next.Transport, cache: c}
	return &decorated
}

type transport struct {
	next  http.RoundTripper
	cache *Cache
}

// RoundTrip answers a request.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil && isUnknownPath(response) {
		t.cache.doubted.Store(true)
	}
	return response, err //nolint:wrapcheck // decorated, not called
}

// isUnknownPath tells whether it is the path that was not found. Of an object the API server says so in JSON.
func isUnknownPath(response *http.Response) bool {
	return response.StatusCode == http.StatusNotFound && strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain")
}
