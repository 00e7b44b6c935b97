package postrender

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	helmpostrender "helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Referenced is a checked configuration that is not in the manifest, but in a Secret of the user that the pods mount.
type Referenced struct {
	// Secret is the name of the Secret.
	Secret string

	// Hash is the SHA-256 of the configuration, in hex.
	Hash string
}

// NewActionClientGetter has the clients that next gives render with a Renderer. find returns what a Collector refers to,
// or the zero value, or the error that rendering then ends with. It is called when a pass renders for the first time, and
// only then, because a dry run and the upgrade that follows must agree.
func NewActionClientGetter(
	next helmclient.ActionClientGetter, find func(ctx context.Context, collector client.Object) (Referenced, error),
) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, collector)
		if err != nil {
			return nil, err
		}
		referenced := sync.OnceValues(func() (Referenced, error) { return find(ctx, collector) })
		return actionClient{ActionInterface: actions, referenced: referenced}, nil
	})
}

// actionClient serves one pass over one Collector.
type actionClient struct {
	helmclient.ActionInterface
	referenced func() (Referenced, error)
}

// Install installs a release.
func (c actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	return c.ActionInterface.Install(name, namespace, chrt, vals, append(slices.Clip(opts), func(install *action.Install) error {
		install.PostRenderer = first{referenced: c.referenced, next: install.PostRenderer}
		return nil
	})...)
}

// Upgrade upgrades a release, or tells what an upgrade would lead to.
func (c actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	return c.ActionInterface.Upgrade(name, namespace, chrt, vals, append(slices.Clip(opts), func(upgrade *action.Upgrade) error {
		upgrade.PostRenderer = first{referenced: c.referenced, next: upgrade.PostRenderer}
		return nil
	})...)
}

// first runs a Renderer before the reconciler's own post-renderer. The reconciler's way to add one would do so too, but
// makes mere text of its errors.
type first struct {
	referenced func() (Referenced, error)
	next       helmpostrender.PostRenderer
}

// Run runs both.
func (f first) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	referenced, err := f.referenced()
	if err != nil {
		return nil, err
	}
	rendered, err := Renderer{Referenced: referenced}.Run(manifest)
	if err != nil {
		return nil, err
	}
	finished, err := f.next.Run(rendered)
	if err != nil {
		return nil, fmt.Errorf("finish the manifest: %w", err)
	}
	return finished, nil
}
