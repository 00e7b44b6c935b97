package capabilities

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// monitor is a chart with a ServiceMonitor where the cluster knows the kind.
var monitor = &chart.Chart{
	Metadata: &chart.Metadata{APIVersion: "v2", Name: "collector", Version: "0.1.0"},
	Templates: []*chart.File{{Name: "templates/monitor.yaml", Data: []byte(
		`{{ if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" -}} {kind: ServiceMonitor} {{- end }}`,
	)}},
}

// helm is Helm without a cluster: what it could ask for capabilities is nil.
type helm struct {
	helmclient.ActionInterface
	config  *action.Configuration
	looks   func() // at the ServiceMonitor of a rendered release
	renders int
}

func (h *helm) Config() *action.Configuration { return h.config }

// Run is that of a post-renderer that looks at the objects.
func (h *helm) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	h.renders++
	if strings.Contains(manifest.String(), "ServiceMonitor") {
		h.looks()
	}
	return manifest, nil
}

func (h *helm) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	install := action.NewInstall(h.config)
	install.ReleaseName, install.Namespace, install.PostRenderer = name, namespace, h
	for _, option := range opts {
		if err := option(install); err != nil {
			return nil, err
		}
	}
	return install.Run(chrt, vals)
}

func (h *helm) Upgrade(
	name, _ string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	upgrade := action.NewUpgrade(h.config)
	upgrade.PostRenderer = h
	for _, option := range opts {
		if err := option(upgrade); err != nil {
			return nil, err
		}
	}
	return upgrade.Run(name, chrt, vals)
}

// answering is a way to an API server that gives the same answer always.
type answering struct {
	status      int
	contentType string
}

func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {a.contentType}}, Body: http.NoBody, Request: request,
	}, nil
}

func install(actions helmclient.ActionInterface) (*release.Release, error) {
	return actions.Install("gateway", "acme", monitor, nil)
}

func upgrade(actions helmclient.ActionInterface) (*release.Release, error) {
	return actions.Upgrade("gateway", "acme", monitor, nil)
}

func dryRun(actions helmclient.ActionInterface) (*release.Release, error) {
	return actions.Upgrade("gateway", "acme", monitor, nil, func(upgrade *action.Upgrade) error {
		upgrade.DryRun = true
		return nil
	})
}

func TestHelmFindsOutThatAKindHasGone(t *testing.T) {
	missing := func(contentType string) answering { return answering{http.StatusNotFound, contentType} }
	gone, object := missing("text/plain; charset=utf-8"), missing("application/json")
	vanish := func(c *cluster) { delete(c.kinds, monitors) }
	tests := map[string]struct {
		render  func(helmclient.ActionInterface) (*release.Release, error)
		happens func(*cluster) // before Helm looks for the ServiceMonitor
		answer  answering      // to that
		renders int
		asked   int
		monitor bool // is in the release
	}{
		"when it installs":                      {install, vanish, gone, 2, 2, false},
		"when it makes a dry run":               {dryRun, vanish, gone, 2, 2, false},
		"when it upgrades, for the next time":   {upgrade, vanish, gone, 1, 1, true},
		"but not when nothing shows that":       {dryRun, vanish, answering{http.StatusOK, "text/plain"}, 1, 1, true},
		"but not when only the object has gone": {dryRun, vanish, object, 1, 1, true},
		"and renders once when it has not":      {dryRun, func(*cluster) {}, gone, 1, 2, true},
		"and renders twice when the cluster goes on changing": {dryRun, func(c *cluster) {
			c.version += "0"
		}, gone, 2, 2, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			cluster.kinds[monitors] = []string{"ServiceMonitor"}
			cache, _ := newCache(cluster)
			config, err := config(t, cache)
			if err != nil {
				t.Fatal(err)
			}
			config.Log, config.Releases = func(string, ...any) {}, storage.Init(driver.NewMemory())
			config.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}
			given, before := config.Capabilities, slices.Clone(config.Capabilities.APIVersions)
			next := &helm{config: config, looks: func() {
				test.happens(cluster)
				look(t, cache.HTTPClient(&http.Client{Transport: test.answer}))
			}}
			if name != "when it installs" {
				if err := config.Releases.Create(&release.Release{
					Name: "gateway", Namespace: "acme", Version: 1, Info: &release.Info{Status: release.StatusDeployed},
				}); err != nil {
					t.Fatal(err)
				}
			}

			getter := cache.ActionClients(helmclient.ActionClientGetterFunc(
				func(context.Context, client.Object) (helmclient.ActionInterface, error) { return next, nil }))
			actions, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{})
			if err != nil {
				t.Fatal(err)
			}
			rel, err := test.render(actions)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(rel.Manifest, "ServiceMonitor"); got != test.monitor || next.renders != test.renders {
				t.Errorf("a monitor is in the release: %t, rendered %d times", got, next.renders)
			}
			if cluster.asked != test.asked {
				t.Errorf("the API server was asked %d times", cluster.asked)
			}
			if !slices.Equal(given.APIVersions, before) {
				t.Error("Helm has changed what all passes share")
			}
		})
	}
}

func look(t *testing.T, via *http.Client) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://kubernetes/apis/monitoring.coreos.com/v1/namespaces/acme/servicemonitors/gateway", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := via.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
}
