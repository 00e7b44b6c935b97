package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmmanager "github.com/operator-framework/helm-operator-plugins/pkg/manager"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/sources"
	"github.com/kube8/kube8-operator/internal/status"
)

// requestTimeout is how long an answer of the API server is waited for. Without a limit one lost answer would stop the
// work on a Collector for ever, and as many as there are workers all work. A webhook has at most 30 seconds, and then the API server
// says which one did not answer.
const requestTimeout = 40 * time.Second

// newManager makes the manager that runs the reconcilers of ws. Its cache holds the Collectors, what they became and what users let
// them refer to, not the rest of the cluster. The other cache has the bases in a namespace.
func newManager(
	ctx context.Context, cfg *rest.Config, options manager.Options, ws []watches.Watch, basesIn string,
) (mgr ctrl.Manager, bases ctrlcache.Cache, err error) {
	labelled, err := labels.Parse(v1alpha1.CollectorLabel)
	if err != nil {
		return nil, nil, fmt.Errorf("select by label %s: %w", v1alpha1.CollectorLabel, err)
	}
	objects := map[client.Object]ctrlcache.ByObject{&corev1.Pod{}: {Label: labelled, Transform: status.StripPod}}
	for _, watch := range ws {
		selector, err := metav1.LabelSelectorAsSelector(watch.Selector)
		if err != nil {
			return nil, nil, fmt.Errorf("read the selector in the watches file: %w", err)
		}
		primary := &unstructured.Unstructured{}
		primary.SetGroupVersionKind(watch.GroupVersionKind)
		objects[primary] = ctrlcache.ByObject{Label: selector, Transform: cache.StripCollectors()}
	}

	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1                             // no limit: the API server's priority and fairness shares it out better
	watching, err := rest.HTTPClientFor(cfg) // no limit either: a watch lasts
	if err != nil {
		return nil, nil, fmt.Errorf("create client for watches: %w", err)
	}
	cfg.Timeout = requestTimeout

	counted := &metrics.Cache{}
	options.Cache = ctrlcache.Options{
		HTTPClient:           watching,
		ByObject:             objects,
		DefaultLabelSelector: labelled,
		DefaultTransform:     cache.Strip,
		NewInformer:          counted.NewInformer,
	}
	options.MapperProvider = newMapper
	options.Client = client.Options{Cache: &client.CacheOptions{Unstructured: true}}
	options.LeaderElectionReleaseOnCancel = true // the process ends with the manager
	helmmanager.ConfigureWatchNamespaces(&options, ctrl.Log)
	left, err := leaveOut(ctx, cfg, &options.Cache, ws)
	if err := errors.Join(err, protectMetrics(&options.Metrics)); err != nil {
		return nil, nil, err
	}

	mgr, err = ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, nil, fmt.Errorf("create manager: %w", err)
	}
	// An operator that waits for the lead has objects too, and must not count them, so that the sum over all operators is right.
	register := func(context.Context) error { return runtimemetrics.Registry.Register(counted) }
	err = errors.Join(
		mgr.Add(manager.RunnableFunc(register)), mgr.Add(left),
		mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("add metrics and probes: %w", err)
	}
	bases, err = addBases(mgr, cfg, options.Cache, basesIn)
	return mgr, bases, err
}

// addBases adds a cache to mgr with the bases in a namespace and, if the operator is for all namespaces, those that name bases.
func addBases(mgr ctrl.Manager, cfg *rest.Config, options ctrlcache.Options, namespace string) (ctrlcache.Cache, error) {
	bases, err := labels.Parse(v1alpha1.BaseLabel)
	naming, namingErr := labels.Parse(v1alpha1.BasesLabel)
	if err := errors.Join(err, namingErr); err != nil {
		return nil, fmt.Errorf("select bases: %w", err)
	}
	options.ByObject, options.DefaultLabelSelector, options.DefaultTransform = map[client.Object]ctrlcache.ByObject{}, bases, sources.StripBase
	if len(options.DefaultNamespaces) == 0 {
		options.ByObject[&corev1.Namespace{}] = ctrlcache.ByObject{Label: naming}
	}
	options.DefaultNamespaces = map[string]ctrlcache.Config{namespace: {}}
	options.Mapper = mgr.GetRESTMapper()
	added, err := cluster.New(cfg, func(o *cluster.Options) { o.Cache = options })
	if err != nil {
		return nil, fmt.Errorf("create the cache of bases: %w", err)
	}
	return added.GetCache(), mgr.Add(added)
}
