package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube8/kube8-operator/internal/capabilities"
	"github.com/kube8/kube8-operator/internal/configsource"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/memory"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/pause"
	"github.com/kube8/kube8-operator/internal/redact"
	"github.com/kube8/kube8-operator/internal/retry"
	"github.com/kube8/kube8-operator/internal/status"
)

// maxReleaseHistory is how many revisions of a release are kept.
const maxReleaseHistory = 3

// deletionWait is how long a pass waits until the informer cache has no Collector of the name of one that was deleted. A
// new one of that name waits as long for its first pass, and one that somebody else's finalizer keeps holds a worker as
// long, in each pass.
const deletionWait = 2 * time.Second

// Run runs the operator against the cluster of cfg until ctx ends.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	ws, err := LoadWatches(opts)
	if err != nil {
		return err
	}
	measured, err := newMetrics(ws)
	if err != nil {
		return err
	}
	mgr, err := newManager(cfg, opts, ws, measured)
	if err != nil {
		return err
	}
	offered, err := capabilities.New(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	if err := mgr.Add(offered); err != nil {
		return fmt.Errorf("keep what the cluster offers up to date: %w", err)
	}
	for _, watch := range ws {
		if err := addReconciler(mgr, offered, measured, opts, watch); err != nil {
			return fmt.Errorf("set up the reconciler of %s: %w", watch.Kind, err)
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// newMetrics registers the operator's metrics beside those of controller-runtime.
func newMetrics(ws []watches.Watch) (*metrics.Metrics, error) {
	var kinds []string
	for _, watch := range ws {
		kinds = append(kinds, watch.Kind)
	}
	measured := metrics.New(kinds...)
	if err := runtimemetrics.Registry.Register(measured); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return measured, nil
}

// addReconciler adds the stock reconciler of one watch to mgr. offered is what the cluster offers.
func addReconciler(
	mgr ctrl.Manager, offered *capabilities.Cache, measured *metrics.Metrics, opts Options, watch watches.Watch,
) error {
	events := measured.Events(mgr.GetEventRecorderFor("kube8-operator"))
	configurations := &configsource.Source{Cache: mgr.GetClient(), Live: mgr.GetAPIReader()}
	helm, err := newHelm(mgr, offered, opts, events, configurations)
	if err != nil {
		return err
	}
	period, concurrency := opts.ReconcilePeriod, opts.MaxConcurrentReconciles
	if watch.ReconcilePeriod != nil {
		period = watch.ReconcilePeriod.Duration
	}
	if watch.MaxConcurrentReconciles != nil {
		concurrency = *watch.MaxConcurrentReconciles
	}
	passes := retry.New()
	remembered := &memory.Memory{
		Cache:         mgr.GetClient(),
		Configuration: configurations.Version,
		Capabilities:  offered.Version,
		Period:        period,
	}
	repairing := drift.Getter{Next: helm, Cluster: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: events}
	r, err := reconciler.New(
		reconciler.WithChart(*watch.Chart),
		reconciler.WithGroupVersionKind(watch.GroupVersionKind),
		reconciler.WithOverrideValues(watch.OverrideValues),
		reconciler.WithSelector(*watch.Selector),
		reconciler.SkipDependentWatches(!*watch.WatchDependentResources),
		reconciler.WithReconcilePeriod(period),
		reconciler.WithMaxConcurrentReconciles(concurrency),
		reconciler.WithMaxReleaseHistory(maxReleaseHistory),
		reconciler.WithWaitForDeletionTimeout(deletionWait),
		reconciler.WithActionClientGetter(passes.ActionClients(measured.ActionClients(remembered.ActionClients(repairing, passes.After)))),
		reconciler.WithControllerSetupFunc(passes.Setup),
		reconciler.WithClient(status.NewClient(mgr.GetClient(), remembered, events)),
		reconciler.WithControllerSetupFunc(status.WatchPods(mgr, watch.GroupVersionKind, watch.Selector)),
		reconciler.WithControllerSetupFunc(configsource.Watch(mgr, watch.GroupVersionKind, watch.Selector)),
		reconciler.WithControllerSetupFunc(offered.Watch(mgr.GetCache(), watch.GroupVersionKind, watch.Selector)),
		reconciler.WithPauseReconcileHandler(pause.Handler),
		reconciler.WithLog(redact.Logger(ctrl.Log.WithName("helm"), redact.Manifests)),
	)
	if err != nil {
		return fmt.Errorf("create reconciler: %w", err)
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("add reconciler to manager: %w", err)
	}
	return nil
}
