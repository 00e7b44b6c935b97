package once

import (
	"bytes"
	"context"
	"errors"
	"testing"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helm renders a release, and notes how.
type helm struct {
	helmclient.ActionInterface
	release  *release.Release // of dry runs
	err      error
	rendered bool // by the last upgrade, from templates
	manifest string
}

func (h *helm) Upgrade(_, _ string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption) (*release.Release, error) {
	upgrade := &action.Upgrade{PostRenderer: manifest("rendered by the upgrade")}
	for _, opt := range opts {
		if err := opt(upgrade); err != nil {
			return nil, err
		}
	}
	if upgrade.DryRun {
		h.release.Config = vals
		return h.release, h.err
	}
	out, err := upgrade.PostRenderer.Run(&bytes.Buffer{})
	if err != nil {
		return nil, err
	}
	h.rendered, h.manifest = len(chrt.Templates) > 0, out.String()
	return &release.Release{}, nil
}

func TestAnUpgradeRendersOnlyWhatItsDryRunHasNot(t *testing.T) {
	dryRun := func(upgrade *action.Upgrade) error { upgrade.DryRun = true; return nil }
	chrt := &chart.Chart{
		Metadata: &chart.Metadata{Name: "collector"}, Templates: []*chart.File{{Name: "templates/service.yaml"}},
	}
	tests := map[string]struct {
		release  release.Release
		err      error
		vals     map[string]any
		skipsDry bool
		rendered bool
	}{
		"with the values of the dry run": {},
		"with other values":              {vals: map[string]any{"mode": "daemonset"}, rendered: true},
		"without a dry run":              {skipsDry: true, rendered: true},
		"after one that failed":          {err: errors.New("refused"), rendered: true},
		"where there are hooks too":      {release: release.Release{Hooks: []*release.Hook{{}}}, rendered: true},
		"where there are notes too":      {release: release.Release{Info: &release.Info{Notes: "Hello."}}, rendered: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next := &helm{release: &test.release, err: test.err}
			next.release.Manifest = "rendered by the dry run"
			if next.release.Info == nil {
				next.release.Info = &release.Info{}
			}
			getter := NewActionClientGetter(helmclient.ActionClientGetterFunc(
				func(context.Context, client.Object) (helmclient.ActionInterface, error) { return next, nil }))
			actions, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{})
			if err != nil {
				t.Fatal(err)
			}
			if !test.skipsDry {
				_, err := actions.Upgrade("gateway", "acme", chrt, map[string]any{"mode": "deployment"}, dryRun)
				if !errors.Is(err, test.err) {
					t.Fatalf("the dry run: %v", err)
				}
			}
			vals := test.vals
			if vals == nil {
				vals = map[string]any{"mode": "deployment"}
			}
			if _, err := actions.Upgrade("gateway", "acme", chrt, vals); err != nil {
				t.Fatal(err)
			}
			want := "rendered by the dry run"
			if test.rendered {
				want = "rendered by the upgrade"
			}
			if next.rendered != test.rendered || next.manifest != want {
				t.Errorf("rendered: %t, %s", next.rendered, next.manifest)
			}
		})
	}
}
