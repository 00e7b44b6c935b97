package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	helmmanager "github.com/operator-framework/helm-operator-plugins/pkg/manager"
	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube8/kube8-operator/internal/configsource"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/release"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/status"
)

// deletionWait is how long a reconcile waits until the informer cache no longer has a Collector that was deleted, or shows
// that only somebody else's finalizer keeps it. A new Collector of that name waits as long for its first reconcile.
const deletionWait = 2 * time.Second

// Run runs the operator against the cluster of cfg until ctx ends.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	limitMemory()
	ws, err := LoadWatches(opts)
	if err != nil {
		return err
	}
	chosen, err := labels.ParseToRequirements(opts.WatchLabelSelector)
	if err != nil {
		return fmt.Errorf("--watch-label-selector: %q is not a label selector: %w", opts.WatchLabelSelector, err)
	}
	shard := shardOf(opts.WatchLabelSelector)
	mgr, referred, err := newManager(cfg, opts.Manager, ws, chosen, shard)
	if err != nil {
		return err
	}
	measured := metrics.New(runtimemetrics.Registry)
	for _, watch := range ws {
		if err := addReconciler(mgr, referred, measured, opts, watch, shard); err != nil {
			return fmt.Errorf("set up the reconciler of %s: %w", watch.Kind, err)
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// shardOf returns the label of the objects of the Collectors that a selector selects. It is empty without a selector.
func shardOf(selector string) string {
	if selector == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(selector))
	return hex.EncodeToString(sum[:5])
}

// gcPercent is how much memory may be allocated, in percent of what is in use, until Go collects garbage. Most of what the
// operator has in use is the informer cache, which grows with the fleet. With Go's 100, 10,000 Collectors take more than 40 KiB each.
const gcPercent = 90

// limitMemory has Go collect garbage more often, and harder near the container's memory limit, in bytes, which the manifests
// give as MEMORY_LIMIT. Without it the operator would be killed by what it could have freed. GOGC and GOMEMLIMIT win.
func limitMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit, err := strconv.ParseInt(os.Getenv("MEMORY_LIMIT"), 10, 64)
	if err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// addReconciler adds the stock reconciler of one watch to mgr.
func addReconciler(
	mgr ctrl.Manager, referred cache.Cache, measured *metrics.Metrics, opts Options, watch watches.Watch, shard string,
) error {
	period := ptr.Deref(watch.ReconcilePeriod, metav1.Duration{Duration: opts.ReconcilePeriod}).Duration
	events := mgr.GetEventRecorderFor("kube8-operator")
	budget := intstr.Parse(opts.RolloutBudget)
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(&budget, 100, false); err != nil || scaled < 0 {
		return fmt.Errorf("--rollout-budget: %q is neither a number nor a percentage", opts.RolloutBudget)
	}
	waves := &rollout.Waves{Budget: budget, Deadline: opts.RolloutDeadline, Events: events, Count: measured.RolledOut}
	if os.Getenv(helmmanager.WatchNamespaceEnvVar) == "" {
		waves.Live = mgr.GetAPIReader()
	}
	configurations := &configsource.Source{Cache: referred, Live: mgr.GetAPIReader(), DataDigest: release.DataDigest}
	clients, err := release.New(mgr, watch, release.Options{
		Configuration: configurations.Configuration, ConfigurationVersion: configurations.Version, References: configurations.References,
		Events: events, Metrics: measured, Period: period, Waves: waves, Shard: shard, Alone: opts.Manager.LeaderElection,
	})
	if err != nil {
		return fmt.Errorf("create action clients: %w", err)
	}
	r, err := reconciler.New(
		reconciler.WithChart(*watch.Chart),
		reconciler.WithGroupVersionKind(watch.GroupVersionKind),
		reconciler.WithOverrideValues(watch.OverrideValues),
		reconciler.SkipDependentWatches(true), // the action clients watch what the chart can render
		reconciler.WithReconcilePeriod(period),
		reconciler.WithMaxConcurrentReconciles(ptr.Deref(watch.MaxConcurrentReconciles, opts.MaxConcurrentReconciles)),
		reconciler.WithWaitForDeletionTimeout(deletionWait),
		reconciler.WithActionClientGetter(clients),
		reconciler.WithControllerSetupFunc(clients.Watch),
		reconciler.WithClient(status.NewClient(mgr.GetClient(), clients, events)),
		reconciler.WithControllerSetupFunc(status.WatchPods(mgr, watch.GroupVersionKind)),
		reconciler.WithControllerSetupFunc(configurations.Watch(mgr, referred, watch)),
		reconciler.WithPauseReconcileHandler(isPaused),
		reconciler.WithLog(ctrl.Log.WithName("helm")),
	)
	if err != nil {
		return fmt.Errorf("create reconciler: %w", err)
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("add reconciler to manager: %w", err)
	}
	return nil
}
