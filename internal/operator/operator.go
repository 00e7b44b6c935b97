package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/values"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/queue"
	"github.com/kube8/kube8-operator/internal/reconcile"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/sources"
	"github.com/kube8/kube8-operator/internal/status"
)

// deletionWait is how long a reconcile waits until the informer cache no longer has a Collector that was deleted, or shows
// that only another client's finalizer keeps it. A new Collector of that name waits as long for its first reconcile.
const deletionWait = 2 * time.Second

// Run runs the operator against the cluster of cfg until ctx ends.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	limitMemory()
	// Only net/http writes to this log, and quotes what a server says unasked.
	log.SetOutput(io.Discard)
	opts.findNamespace()
	ws, err := LoadWatches(opts)
	if err != nil {
		return err
	}
	mgr, bases, err := newManager(ctx, cfg, opts.Manager, ws, opts.basesNamespace())
	if err != nil {
		return err
	}
	metered := metrics.New(runtimemetrics.Registry)
	for _, watch := range ws {
		if err := addReconciler(ctx, mgr, bases, metered, opts, watch); err != nil {
			return fmt.Errorf("set up the reconciler of %s: %w", watch.Kind, err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(endWait):
		}
	}
	if err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// endWait is how long the operator may take to end. The library never does as long as a list fails that it waits for at its start
// (controller-runtime v0.25.2, runnableGroup.Start).
const endWait = 10 * time.Second

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

// addReconciler adds the stock reconciler of one watch to mgr, with a controller of its own.
func addReconciler(
	ctx context.Context, mgr ctrl.Manager, bases ctrlcache.Cache, metered *metrics.Metrics, opts Options, watch watches.Watch,
) error {
	period := max(0, ptr.Deref(watch.ReconcilePeriod, metav1.Duration{Duration: opts.ReconcilePeriod}).Duration)
	events := mgr.GetEventRecorderFor("kube8-operator") //nolint:staticcheck // the stock reconciler takes no other recorder
	budget, least, err := opts.rolloutBudget()
	if err := errors.Join(err, opts.checkTimes()); err != nil {
		return err
	}
	waves := &rollout.Waves{
		Budget: budget, Least: least, Deadline: opts.RolloutDeadline, Soak: opts.RolloutSoak, Namespace: opts.namespace(),
		Canary: opts.RolloutCanary, Events: events, Now: time.Now, Count: metered.RolledOut(),
	}
	if isForAll() {
		waves.Live = mgr.GetAPIReader()
	}
	configurations := &sources.ReferenceReader{Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), DataDigest: cache.DataDigest}
	shared := &sources.BaseReader{Cache: bases, Namespace: opts.basesNamespace(), Namespaces: waves.Live != nil}
	if err := shared.MayRead(ctx, mgr.GetAPIReader()); err != nil {
		return err
	}
	find := newFinder(mgr.GetClient(), watch.GroupVersionKind)
	delays := &limiter{queue.NewBackoff(time.Now), find}
	own := make(requests)
	f, err := newFollower(mgr, watch, waves, func(collector client.Object, after time.Duration) { own.ask(ctx, collector, after) })
	if err != nil {
		return fmt.Errorf("create action clients: %w", err)
	}
	flows := &flow.Watcher{
		Collectors: f.collectors, Find: find, Pods: mgr.GetCache(), Requeue: func(collector client.Object) { own.ask(ctx, collector, 0) },
		Period: max(opts.FlowPeriod, time.Second), Await: opts.RolloutFlow, HostNetwork: opts.FlowHostNetwork,
	}
	clients := reconcile.New(mgr.GetClient(), mgr.GetAPIReader(), reconcile.Options{
		Source: &history.Source{
			Chart: f.chart, Build: opts.Build, Mapper: mgr.GetRESTMapper(), Served: f.capabilities.Get,
			Configuration: configurations.Configuration, Versions: configurations.Versions, References: configurations.References,
			Bases: shared.Of,
		},
		Discover: f.capabilities.Discover, Events: events, Metrics: metered, Waves: waves, BackingOff: delays.IsWaiting, Flows: flows.Verdicts,
		Canary: opts.RolloutCanary, Alone: opts.Manager.LeaderElection, Period: period,
	})
	f.knows = clients.Knows
	err = runtimemetrics.Registry.Register(flows)
	if _, isAnother := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !isAnother {
		return fmt.Errorf("register the metrics of flows: %w", err)
	}
	stock, err := newReconciler(watch, period, clients, status.NewClient(mgr.GetClient(), mgr.GetAPIReader(), clients, flows, events), events)
	if err != nil {
		return fmt.Errorf("create reconciler: %w", err)
	}
	workers := ptr.Deref(watch.MaxConcurrentReconciles, opts.Workers())
	c, err := controller.New(strings.ToLower(watch.Kind)+"-controller", mgr, controller.Options{
		Reconciler:  &measured{stock, clients.Last, delays, metered},
		RateLimiter: delays, NewQueue: queue.New, MaxConcurrentReconciles: workers,
	})
	if err != nil {
		return fmt.Errorf("create controller: %w", err)
	}
	collectors := &unstructured.Unstructured{}
	collectors.SetGroupVersionKind(watch.GroupVersionKind)
	return errors.Join(
		mgr.Add(flows),
		c.Watch(source.Kind(mgr.GetCache(), client.Object(collectors), &handler.EnqueueRequestForObject{}, status.News)),
		c.Watch(own.source()),
		f.start(c),
		status.WatchPods(mgr, c, func(ctx context.Context, key client.ObjectKey) bool { return find(ctx, key) != nil }),
		configurations.Watch(mgr, c, watch.GroupVersionKind),
		shared.Watch(c, bases, f.basesChanged),
	)
}

// newReconciler returns the stock reconciler of one watch. The options are all that its SetupWithManager would complete. That also
// makes a controller, which retries 5 ms after a failure, watches all Secrets and has a metric for each Collector.
func newReconciler(
	watch watches.Watch, period time.Duration, clients *reconcile.Clients, writer client.Client, events record.EventRecorder,
) (*reconciler.Reconciler, error) {
	// Rendering puts the defaults in. The library would do it for each reconcile, by reflection.
	bare := *watch.Chart
	bare.Values = nil
	return reconciler.New( //nolint:wrapcheck // the caller says what it creates
		reconciler.WithChart(bare),
		reconciler.WithGroupVersionKind(watch.GroupVersionKind),
		reconciler.WithOverrideValues(watch.OverrideValues),
		reconciler.WithReconcilePeriod(period),
		reconciler.WithWaitForDeletionTimeout(deletionWait),
		reconciler.WithActionClientGetter(clients),
		reconciler.WithClient(writer),
		reconciler.WithEventRecorder(events),
		reconciler.WithValueTranslator(values.TranslatorFunc(specOf)),
		//nolint:staticcheck // deprecated, and needed as long as there is no default without SetupWithManager
		reconciler.WithValueMapper(values.MapperFunc(func(spec helm.Values) helm.Values { return spec })),
		reconciler.WithMaxReleaseHistory(0), // the action client has its own
		// The library's handler pauses the deletion too, which then never ends. The reconciler logs an error and goes on.
		reconciler.WithPauseReconcileHandler(func(_ context.Context, collector *unstructured.Unstructured) (bool, error) {
			return v1alpha1.IsPaused(collector)
		}),
		reconciler.WithLog(ctrl.Log.WithName("helm")),
	)
}

// specOf returns the values for the chart, which are a Collector's spec.
func specOf(_ context.Context, collector *unstructured.Unstructured) (helm.Values, error) {
	spec, ok := collector.Object["spec"].(map[string]any)
	if !ok {
		return nil, errors.New("the Collector has no spec")
	}
	return spec, nil
}
