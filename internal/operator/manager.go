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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/base"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/status"
)

// requestTimeout is how long an answer of the API server is waited for. Without a limit one lost answer would stop the
// work on a Collector for ever, and as many as there are workers all work.
const requestTimeout = 30 * time.Second

// newManager makes the manager that runs the reconcilers of ws. Its cache holds the Collectors that were chosen and what they
// became, not the rest of the cluster. The other caches have what users let Collectors refer to, and the bases in a namespace.
func newManager(
	ctx context.Context, cfg *rest.Config, options manager.Options, ws []watches.Watch, chosen []labels.Requirement, shard, basesIn string,
) (mgr ctrl.Manager, referred, bases cache.Cache, err error) {
	labelled, err := labels.Parse(v1alpha1.CollectorLabel)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("select by label %s: %w", v1alpha1.CollectorLabel, err)
	}
	objects := map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: labelled, Transform: status.StripPod}}
	for _, watch := range ws {
		selector, err := metav1.LabelSelectorAsSelector(watch.Selector)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read the selector in the watches file: %w", err)
		}
		primary := &unstructured.Unstructured{}
		primary.SetGroupVersionKind(watch.GroupVersionKind)
		objects[primary] = cache.ByObject{Label: selector.Add(chosen...), Transform: inventory.StripCollectors()}
	}
	if shard != "" { // a pod keeps its labels, so it does not say which operator it is for
		labelled = labels.SelectorFromSet(labels.Set{v1alpha1.OperatorLabel: shard})
	}

	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1                             // no limit: the API server's priority and fairness shares it out better
	watching, err := rest.HTTPClientFor(cfg) // no limit either: a watch lasts
	if err != nil {
		return nil, nil, nil, fmt.Errorf("create client for watches: %w", err)
	}
	cfg.Timeout = requestTimeout

	counted := &metrics.Cache{}
	options.Cache = cache.Options{
		HTTPClient:           watching,
		ByObject:             objects,
		DefaultLabelSelector: labelled,
		DefaultTransform:     inventory.Strip,
		NewInformer:          counted.NewInformer,
	}
	options.MapperProvider = newMapper
	options.Client = client.Options{Cache: &client.CacheOptions{Unstructured: true}}
	options.LeaderElectionReleaseOnCancel = true // the process ends with the manager
	helmmanager.ConfigureWatchNamespaces(&options, ctrl.Log)
	left, err := leaveOut(ctx, cfg, &options.Cache, ws)
	if err := errors.Join(err, protectMetrics(&options.Metrics)); err != nil {
		return nil, nil, nil, err
	}

	mgr, err = ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("create manager: %w", err)
	}
	// An operator that waits for the lead has objects too, and must not count them, so that the sum over all operators is right.
	register := func(context.Context) error { return runtimemetrics.Registry.Register(counted) }
	err = errors.Join(
		mgr.Add(manager.RunnableFunc(register)), mgr.Add(left),
		mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping),
	)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("add metrics and probes: %w", err)
	}
	if bases, err = addBases(mgr, cfg, options.Cache, basesIn); err == nil && shard != "" {
		referred, err = addReferred(mgr, cfg, options.Cache)
		return mgr, referred, bases, err
	}
	return mgr, mgr.GetCache(), bases, err
}

// addReferred adds a cache to mgr with what users let Collectors refer to: it has no label of an operator.
func addReferred(mgr ctrl.Manager, cfg *rest.Config, options cache.Options) (cache.Cache, error) {
	selector, err := labels.Parse(v1alpha1.CollectorLabel + ",!" + v1alpha1.OperatorLabel)
	if err != nil {
		return nil, fmt.Errorf("select what Collectors refer to: %w", err)
	}
	options.ByObject, options.DefaultLabelSelector = nil, selector
	return addCache(mgr, cfg, options)
}

// addBases adds a cache to mgr with the bases in a namespace and, if the operator is for all namespaces, those that name bases.
func addBases(mgr ctrl.Manager, cfg *rest.Config, options cache.Options, namespace string) (cache.Cache, error) {
	bases, err := labels.Parse(v1alpha1.BaseLabel)
	naming, namingErr := labels.Parse(v1alpha1.BasesLabel)
	if err := errors.Join(err, namingErr); err != nil {
		return nil, fmt.Errorf("select bases: %w", err)
	}
	options.ByObject, options.DefaultLabelSelector, options.DefaultTransform = map[client.Object]cache.ByObject{}, bases, base.Strip
	if len(options.DefaultNamespaces) == 0 {
		options.ByObject[&corev1.Namespace{}] = cache.ByObject{Label: naming}
	}
	options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	return addCache(mgr, cfg, options)
}

func addCache(mgr ctrl.Manager, cfg *rest.Config, options cache.Options) (cache.Cache, error) {
	options.Mapper = mgr.GetRESTMapper()
	added, err := cluster.New(cfg, func(o *cluster.Options) { o.Cache = options })
	if err != nil {
		return nil, fmt.Errorf("create a cache: %w", err)
	}
	return added.GetCache(), mgr.Add(added)
}
