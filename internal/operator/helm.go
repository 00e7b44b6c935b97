package operator

import (
	"context"
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/capabilities"
	"github.com/kube8/kube8-operator/internal/chunks"
	"github.com/kube8/kube8-operator/internal/configsource"
	"github.com/kube8/kube8-operator/internal/leftover"
	"github.com/kube8/kube8-operator/internal/once"
	"github.com/kube8/kube8-operator/internal/owned"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/unlock"
)

// newHelm makes Helm's clients: with the post-renderer, without rollbacks, without checks that the API server makes
// anyway, with respect for what is not the Collector's, and without respect for dead operators' locks.
func newHelm(
	mgr ctrl.Manager, offered *capabilities.Cache, opts Options, events record.EventRecorder, configurations *configsource.Source,
) (helmclient.ActionClientGetter, error) {
	stored, err := newReleases(mgr)
	if err != nil {
		return nil, err
	}
	configs, err := helmclient.NewActionConfigGetter(mgr.GetConfig(), mgr.GetRESTMapper(), helmclient.StorageDriverMapper(stored))
	if err != nil {
		return nil, fmt.Errorf("create Helm configurations: %w", err)
	}
	configs = offered.ActionConfigs(configs)
	configs = once.NewActionConfigGetter(configs, offered.HTTPClient(mgr.GetHTTPClient()), mgr.GetCache())
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
	rendering := offered.ActionClients(postrender.NewActionClientGetter(once.NewActionClientGetter(clients), configurations.Configuration))
	leavingNothing := leftover.Getter{Next: owned.NewActionClientGetter(rendering)}
	return &unlock.Getter{
		Next: leavingNothing, LeaderElection: opts.LeaderElect, Operator: string(uuid.NewUUID()), Events: events,
	}, nil
}

// newReleases returns what makes the storage of one Collector's releases for one pass.
func newReleases(mgr ctrl.Manager) (helmclient.ObjectToStorageDriverMapper, error) {
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.ContentType = runtime.ContentTypeProtobuf // in JSON, releases would be encoded once more
	core, err := corev1client.NewForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create client for the Secrets of releases: %w", err)
	}
	return func(_ context.Context, collector client.Object, _ *rest.Config) (driver.Driver, error) {
		owner := metav1.NewControllerRef(collector, collector.GetObjectKind().GroupVersionKind())
		secrets := helmclient.NewOwnerRefSecretClient(core.Secrets(collector.GetNamespace()), []metav1.OwnerReference{*owner}, nil)
		return once.NewDriver(chunks.NewSecrets(owned.NewSecrets(secrets, collector))), nil
	}, nil
}
