package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/kube8/kube8-operator/internal/helm"
)

// interval is how long a change of the APIs that the cluster serves can go unnoticed. No Collector waits longer than a minute for the
// ServiceMonitor of a CRD that has appeared.
const interval = 30 * time.Second

// Capabilities are those APIs that the cluster serves and the chart tests for. They are read when they are first needed, and then
// followed: the API server is asked for those group versions only.
type Capabilities struct {
	// Client asks the API server.
	Client discovery.DiscoveryInterface

	// Chart says what is asked for.
	Chart *Chart

	// Log takes what cannot be read, and what changes.
	Log logr.Logger

	// Follow gets kinds before they count as served, and again each time, in case that it could not follow one.
	Follow func(ctx context.Context, kinds []schema.GroupVersionKind) error

	// Changed is called when another answer than the first counts, with the kinds that it lacks.
	Changed func(ctx context.Context, vanished []schema.GroupVersionKind)

	current    atomic.Pointer[Served]
	asking     sync.Mutex // held while the API server is asked
	kubernetes *version.Info
}

// Served is what the API server answered. It is not changed.
type Served struct {
	*helm.Capabilities

	// Kinds are those that are served beyond those that every cluster has.
	Kinds []schema.GroupVersionKind

	// Version tells the answer apart from others.
	Version string

	// Unreadable are names of kinds whose API never answered since the operator started, and why.
	Unreadable map[string]error
}

// With returns the same with further names of kinds.
func (o *Served) With(names []string) *helm.Capabilities {
	more := *o.Capabilities
	more.APIVersions = slices.Concat(more.APIVersions, names)
	return &more
}

// Start asks the API server every 30 s until ctx ends. The manager starts it with the reconcilers, in the leader. The first reconcile asks
// first: a controller that starts waits for all informers that there are, and one whose API does not answer would keep it from that.
func (c *Capabilities) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if c.current.Load() != nil {
			_, _ = c.Discover(ctx) // it logs errors
		}
	}, interval)
	return nil
}

// Get returns what is known, and asks only if nothing is.
func (c *Capabilities) Get(ctx context.Context) (*Served, error) {
	if current := c.current.Load(); current != nil {
		return current, nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if current := c.current.Load(); current != nil { // another one has asked meanwhile
		return current, nil
	}
	return c.update(ctx)
}

// Discover asks the API server. An API that does not answer counts as it did before.
func (c *Capabilities) Discover(ctx context.Context) (*Served, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	return c.update(ctx)
}

func (c *Capabilities) update(ctx context.Context) (*Served, error) {
	before := c.current.Load()
	after, err := c.read(before)
	if err != nil {
		c.Log.Error(err, "cannot read which APIs the cluster serves; what was known goes on to count")
		if before == nil {
			return nil, fmt.Errorf("find out which APIs the cluster serves: %w", err)
		}
		return before, nil
	}
	err = c.Follow(ctx, after.Kinds)
	if err != nil {
		c.Log.Error(err, "cannot follow the objects of a kind that the cluster serves; the operator tries it again", "after", interval.String())
	}
	switch {
	case before == nil:
		c.current.Store(after)
	case before.Version != after.Version && err == nil:
		c.current.Store(after)
		c.Log.Info("the cluster serves something else, so each Collector is reconciled", "now", after.Version)
		c.Changed(ctx, without(before.Kinds, after.Kinds))
	}
	return c.current.Load(), nil
}

// without returns those of some kinds that are not among others.
func without(some, others []schema.GroupVersionKind) []schema.GroupVersionKind {
	return slices.DeleteFunc(slices.Clone(some), func(kind schema.GroupVersionKind) bool { return slices.Contains(others, kind) })
}

// read asks the API server. An API that does not answer counts as it did before.
func (c *Capabilities) read(before *Served) (*Served, error) {
	if c.kubernetes == nil {
		kubernetes, err := c.Client.ServerVersion()
		if err != nil {
			return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
		}
		c.kubernetes = kubernetes
	}
	type answer struct {
		resources []metav1.APIResource
		err       error
	}
	answers := map[schema.GroupVersion]answer{}
	found, names := &Served{Unreadable: map[string]error{}}, []string{}
	for name, kind := range c.Chart.Optional {
		group := kind.GroupVersion()
		if _, asked := answers[group]; !asked {
			list, err := c.Client.ServerResourcesForGroupVersion(group.String())
			var found answer
			if err == nil {
				found.resources = list.APIResources
			} else if !apierrors.IsNotFound(err) {
				found.err = fmt.Errorf("read API %s: %w", group, err)
				c.Log.Error(err, "cannot read an API; what was known of it goes on to count", "api", group.String())
			}
			answers[group] = found
		}
		isOffered := slices.ContainsFunc(answers[group].resources, func(resource metav1.APIResource) bool { return resource.Kind == kind.Kind })
		if err := answers[group].err; err != nil {
			isOffered = before != nil && slices.Contains(before.Kinds, kind)
			if before == nil || before.Unreadable[name] != nil {
				found.Unreadable[name] = err
			}
		}
		if isOffered {
			names, found.Kinds = append(names, name), append(found.Kinds, kind)
		}
	}
	slices.Sort(names)
	found.Version = strings.Join(names, " ")
	for _, name := range slices.Sorted(maps.Keys(c.Chart.Optional)) {
		if found.Unreadable[name] != nil {
			found.Version += " " + name + "?"
		}
	}
	found.Capabilities = helm.CapabilitiesOf(c.kubernetes, names)
	return found, nil
}
