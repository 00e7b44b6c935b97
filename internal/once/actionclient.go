package once

import (
	"bytes"
	"context"
	"reflect"
	"slices"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/retry"
)

// NewActionClientGetter decorates the clients that next gives: an upgrade does not render again what its dry run has
// rendered. It should be the innermost decorator, because the manifest of the dry run is what all others made of it.
func NewActionClientGetter(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			return nil, err
		}
		return &actionClient{ActionInterface: actions}, nil
	})
}

// actionClient serves one pass over one Collector.
type actionClient struct {
	helmclient.ActionInterface
	rendered *release.Release // by the last dry run
}

// Upgrade upgrades a release, or tells what an upgrade would lead to.
func (c *actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	if retry.IsDryRun(opts) {
		rel, err := c.ActionInterface.Upgrade(name, namespace, chrt, vals, opts...)
		if c.rendered = rel; err != nil {
			c.rendered = nil
		}
		return rel, err
	}
	rendered := c.rendered
	if rendered == nil || !isAllOf(rendered) || !reflect.DeepEqual(rendered.Config, vals) {
		return c.ActionInterface.Upgrade(name, namespace, chrt, vals, opts...)
	}
	c.rendered = nil
	opts = append(slices.Clip(opts), func(upgrade *action.Upgrade) error {
		upgrade.PostRenderer = manifest(rendered.Manifest)
		return nil
	})
	return c.ActionInterface.Upgrade(name, namespace, &chart.Chart{Metadata: chrt.Metadata}, vals, opts...)
}

// isAllOf tells whether the manifest is all that came of rendering a release.
func isAllOf(rel *release.Release) bool {
	return len(rel.Hooks) == 0 && rel.Info.Notes == ""
}

// manifest is a post-renderer that gives a manifest, whatever was rendered.
type manifest string

// Run returns the manifest.
func (m manifest) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBufferString(string(m)), nil
}
