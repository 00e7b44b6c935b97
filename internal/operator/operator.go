package operator

import (
	"context"
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/chunks"
	"github.com/kube8/kube8-operator/internal/configsource"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/leftover"
	"github.com/kube8/kube8-operator/internal/memory"
	"github.com/kube8/kube8-operator/internal/owned"
	"github.com/kube8/kube8-operator/internal/pause"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/redact"
	"github.com/kube8/kube8-operator/internal/retry"
	"github.com/kube8/kube8-operator/internal/status"
	"github.com/kube8/kube8-operator/internal/unlock"
)

// maxReleaseHistory is how many revisions of a release are kept.
const maxReleaseHistory = 3

// Run runs the operator against the cluster of cfg until ctx ends.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	ws, err := LoadWatches(opts)
	if err != nil {
		return err
	}
	mgr, err := newManager(cfg, opts, ws)
	if err != nil {
		return err
	}
	for _, watch := range ws {
		if err := addReconciler(mgr, opts, watch); err != nil {
			return fmt.Errorf("set up the reconciler of %s: %w", watch.Kind, err)
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// addReconciler adds the stock reconciler of one watch to mgr.
func addReconciler(mgr ctrl.Manager, opts Options, watch watches.Watch) error {
	events := mgr.GetEventRecorderFor("kube8-operator")
	configurations := &configsource.Source{Cache: mgr.GetClient(), Live: mgr.GetAPIReader()}
	helm, err := newHelm(mgr, opts, events, configurations)
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
		reconciler.WithActionClientGetter(passes.ActionClients(remembered.ActionClients(repairing, passes.After))),
		reconciler.WithControllerSetupFunc(passes.Setup),
		reconciler.WithClient(status.NewClient(mgr.GetClient(), remembered, events)),
		reconciler.WithControllerSetupFunc(status.WatchPods(mgr, watch.GroupVersionKind, watch.Selector)),
		reconciler.WithControllerSetupFunc(configsource.Watch(mgr, watch.GroupVersionKind, watch.Selector)),
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

// newHelm makes Helm's clients: with the post-renderer, without rollbacks, without checks that the API server makes
// anyway, with respect for what is not the Collector's, and without respect for dead operators' locks.
func newHelm(
	mgr ctrl.Manager, opts Options, events record.EventRecorder, configurations *configsource.Source,
) (helmclient.ActionClientGetter, error) {
	configs, err := helmclient.NewActionConfigGetter(mgr.GetConfig(), mgr.GetRESTMapper(), helmclient.StorageDriverMapper(releases))
	if err != nil {
		return nil, fmt.Errorf("create Helm configurations: %w", err)
	}
	clients, err := helmclient.NewActionClientGetter(owned.NewActionConfigGetter(configs, mgr.GetCache()),
		// A failed upgrade is retried forward: a rollback after a failed dry run would be a forced one, of a release
		// that runs well.
		helmclient.WithFailureRollbacks(false),
		// The API server validates what it is given.
		helmclient.AppendInstallOptions(func(install *action.Install) error {
			install.DisableOpenAPIValidation = true
			return nil
		}),
		helmclient.AppendUpgradeOptions(func(upgrade *action.Upgrade) error {
			upgrade.DisableOpenAPIValidation = true
			return nil
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("create Helm clients: %w", err)
	}
	rendering := postrender.NewActionClientGetter(clients, configurations.Configuration)
	leavingNothing := leftover.Getter{Next: owned.NewActionClientGetter(rendering)}
	return &unlock.Getter{Next: leavingNothing, LeaderElection: opts.LeaderElect, Events: events}, nil
}

// releases makes the storage of one Collector's releases. Its log stays off: it would show releases that it cannot read.
func releases(_ context.Context, collector client.Object, cfg *rest.Config) (driver.Driver, error) {
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create client for the Secrets of releases: %w", err)
	}
	owner := metav1.NewControllerRef(collector, collector.GetObjectKind().GroupVersionKind())
	secrets := helmclient.NewOwnerRefSecretClient(core.Secrets(collector.GetNamespace()), []metav1.OwnerReference{*owner}, nil)
	return driver.NewSecrets(chunks.NewSecrets(owned.NewSecrets(secrets, collector))), nil
}
