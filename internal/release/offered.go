package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// interval is how long a change of what the cluster offers can go unnoticed. Nobody waits longer than a minute for the
// ServiceMonitor of a CRD that has appeared.
const interval = 30 * time.Second

// offers is what the cluster offers of what the chart tests for. It is read when it is first needed, and then followed:
// the API server is asked for those group versions only.
type offers struct {
	client   discovery.DiscoveryInterface
	chart    *Chart
	log      logr.Logger
	follow   func(ctx context.Context, kinds []schema.GroupVersionKind)    // is told of kinds before they count as offered
	changed  func(ctx context.Context, vanished []schema.GroupVersionKind) // is told when another answer than the first counts
	current  atomic.Pointer[offered]
	asking   sync.Mutex // held while the API server is asked
	standard *chartutil.Capabilities
}

// offered is one answer of the API server. It is not changed.
type offered struct {
	capabilities *chartutil.Capabilities
	kinds        []schema.GroupVersionKind // beyond those that every cluster has
	version      string                    // tells it apart from others
}

// Start asks the API server every 30 s until ctx ends. The manager starts it with the reconcilers, in the leader.
func (o *offers) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) { _, _ = o.ask(ctx) }, interval) // it logs errors
	return nil
}

// get returns what is known, and asks only if nothing is.
func (o *offers) get(ctx context.Context) (*offered, error) {
	if current := o.current.Load(); current != nil {
		return current, nil
	}
	o.asking.Lock()
	defer o.asking.Unlock()
	if current := o.current.Load(); current != nil { // another one has asked meanwhile
		return current, nil
	}
	return o.update(ctx)
}

// ask asks the API server. While that fails, the last answer counts.
func (o *offers) ask(ctx context.Context) (*offered, error) {
	o.asking.Lock()
	defer o.asking.Unlock()
	return o.update(ctx)
}

func (o *offers) update(ctx context.Context) (*offered, error) {
	before := o.current.Load()
	after, err := o.read()
	if err != nil {
		o.log.Error(err, "cannot read what the cluster offers; what was known goes on to count")
		if before == nil {
			return nil, fmt.Errorf("find out what the cluster offers: %w", err)
		}
		return before, nil
	}
	switch {
	case before == nil:
		o.follow(ctx, after.kinds)
		o.current.Store(after)
	case before.version != after.version:
		o.follow(ctx, without(after.kinds, before.kinds))
		o.current.Store(after)
		o.log.Info("the cluster offers something else, so each Collector is reconciled", "now", after.version)
		o.changed(ctx, without(before.kinds, after.kinds))
	}
	return o.current.Load(), nil
}

// without returns those of some kinds that are not among others.
func without(some, others []schema.GroupVersionKind) []schema.GroupVersionKind {
	return slices.DeleteFunc(slices.Clone(some), func(kind schema.GroupVersionKind) bool { return slices.Contains(others, kind) })
}

func (o *offers) read() (*offered, error) {
	if o.standard == nil {
		kubernetes, err := o.client.ServerVersion()
		if err != nil {
			return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
		}
		o.standard = &chartutil.Capabilities{
			KubeVersion: chartutil.KubeVersion{Version: kubernetes.GitVersion, Major: kubernetes.Major, Minor: kubernetes.Minor},
			HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
		}
	}
	groups := map[schema.GroupVersion][]metav1.APIResource{}
	found, names := &offered{}, []string{}
	for name, kind := range o.chart.offered {
		group := kind.GroupVersion()
		if _, asked := groups[group]; !asked {
			list, err := o.client.ServerResourcesForGroupVersion(group.String())
			if apierrors.IsNotFound(err) {
				list, err = &metav1.APIResourceList{}, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read API %s: %w", group, err)
			}
			groups[group] = list.APIResources
		}
		if slices.ContainsFunc(groups[group], func(resource metav1.APIResource) bool { return resource.Kind == kind.Kind }) {
			names, found.kinds = append(names, name), append(found.kinds, kind)
		}
	}
	slices.Sort(names)
	capabilities := *o.standard
	capabilities.APIVersions = append(slices.Clone(chartutil.DefaultVersionSet), names...)
	found.capabilities, found.version = &capabilities, strings.Join(names, " ")
	return found, nil
}
