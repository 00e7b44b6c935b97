package capabilities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ActionConfigs decorates the configurations that next gives: they have the capabilities already. All share them, and
// Helm only reads them.
func (c *Cache) ActionConfigs(next helmclient.ActionConfigGetter) helmclient.ActionConfigGetter {
	return configGetter{next: next, cache: c}
}

type configGetter struct {
	next  helmclient.ActionConfigGetter
	cache *Cache
}

// ActionConfigFor returns Helm's configuration for one pass over collector.
func (g configGetter) ActionConfigFor(ctx context.Context, collector client.Object) (*action.Configuration, error) {
	current, err := g.cache.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("find out what the cluster offers: %w", err)
	}
	config, err := g.next.ActionConfigFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	config.Capabilities = current.capabilities
	return config, nil
}

// ActionClients decorates the clients that next gives, which must have been made with ActionConfigs. An install, or the
// dry run of an upgrade, that finds a kind gone is made again without it, before anything is written. It should decorate
// the clients before those do that look at the objects of a rendered release, because they are who finds that.
func (c *Cache) ActionClients(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, collector)
		if err != nil {
			return nil, err
		}
		return actionClient{ActionInterface: actions, ctx: ctx, cache: c}, nil
	})
}

type actionClient struct {
	helmclient.ActionInterface
	ctx   context.Context //nolint:containedctx // of that pass; the interface has no room for it
	cache *Cache
}

// Install installs a release.
func (c actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	checked := append(slices.Clip(opts), func(install *action.Install) error {
		install.PostRenderer = checking{next: install.PostRenderer, pass: c}
		return nil
	})
	rel, err := c.ActionInterface.Install(name, namespace, chrt, vals, checked...)
	if errors.Is(err, errOutdated) {
		return c.ActionInterface.Install(name, namespace, chrt, vals, opts...)
	}
	return rel, err
}

// Upgrade upgrades a release, or tells what an upgrade would lead to.
func (c actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	checked := append(slices.Clip(opts), func(upgrade *action.Upgrade) error {
		if upgrade.DryRun { // the upgrade should lead to what its dry run has told
			upgrade.PostRenderer = checking{next: upgrade.PostRenderer, pass: c}
		}
		return nil
	})
	rel, err := c.ActionInterface.Upgrade(name, namespace, chrt, vals, checked...)
	if errors.Is(err, errOutdated) {
		return c.ActionInterface.Upgrade(name, namespace, chrt, vals, opts...)
	}
	return rel, err
}

// errOutdated has a release rendered again. That is not checked: should the cluster go on changing, as when several
// CRDs are removed one after the other, then more passes follow.
var errOutdated = errors.New("the release was rendered for something else than what the cluster offers")

// checking is a post-renderer, which comes when the release is rendered and its objects have been looked at.
type checking struct {
	next postrender.PostRenderer
	pass actionClient
}

// Run returns what next makes of the manifest, or errOutdated if that turns out to be for something else than what the
// cluster offers. Then the configuration has what it does.
func (p checking) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	manifest, err := p.next.Run(rendered)
	if err != nil {
		return nil, err
	}
	config := p.pass.Config()
	if current, err := p.pass.cache.get(p.pass.ctx); err == nil && current.capabilities != config.Capabilities {
		config.Capabilities = current.capabilities
		return nil, errOutdated
	}
	return manifest, nil
}
