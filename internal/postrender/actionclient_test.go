package postrender

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestRunStampsTheHashOfWhatThePodsReferTo(t *testing.T) {
	stamped := strings.ReplaceAll(stampedDeployment, configHash, "0123abcd")
	unstamped := strings.Replace(stampedDeployment, "      annotations:\n        kube8.dev/config-sha256: "+configHash+"\n", "", 1)
	elsewhere := strings.NewReplacer("gateway-config", "gateway-tls")
	tests := map[string]struct{ manifest, want string }{
		"a pod template that mounts the Secret": {
			manifest: docs(deployment),
			want:     docs(stamped),
		},
		"a pod template that mounts another Secret": {
			manifest: docs(elsewhere.Replace(deployment)),
			want:     docs(elsewhere.Replace(unstamped)),
		},
		"a manifest that has the Secret itself": {
			manifest: docs(secret("yaml", encode(config)), deployment),
			want:     docs(canonicalSecret, stampedDeployment),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			renderer := Renderer{Referenced: Referenced{Secret: "gateway-config", Hash: "0123abcd"}}
			got, err := renderer.Run(bytes.NewBufferString(test.manifest))
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
		})
	}
}

// helm is a stock action client without a cluster.
type helm struct{ helmclient.ActionInterface }

// unchanged is a post-renderer like the stock action client's, which runs after ours.
type unchanged struct{}

func (unchanged) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) { return manifest, nil }

var deploymentChart = &chart.Chart{
	Metadata:  &chart.Metadata{APIVersion: "v2", Name: "collector", Version: "0.1.0"},
	Templates: []*chart.File{{Name: "templates/deployment.yaml", Data: []byte(deployment)}},
}

func (helm) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace, install.DryRun, install.ClientOnly = name, namespace, true, true
	install.PostRenderer = unchanged{}
	for _, option := range opts {
		if err := option(install); err != nil {
			return nil, err
		}
	}
	return install.Run(chrt, vals)
}

func (helm) Upgrade(
	name, _ string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	storage := storage.Init(driver.NewMemory())
	if err := storage.Create(&release.Release{Name: name, Version: 1, Info: &release.Info{Status: release.StatusDeployed}}); err != nil {
		return nil, err
	}
	upgrade := action.NewUpgrade(&action.Configuration{
		Log: func(string, ...any) {}, Releases: storage, KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard},
		Capabilities: chartutil.DefaultCapabilities,
	})
	upgrade.DryRun = true
	upgrade.PostRenderer = unchanged{}
	for _, option := range opts {
		if err := option(upgrade); err != nil {
			return nil, err
		}
	}
	return upgrade.Run(name, chrt, vals)
}

func TestActionClient(t *testing.T) {
	collector := &corev1.ConfigMap{} // any object
	var finds int
	var missing error
	clients := NewActionClientGetter(
		helmclient.ActionClientGetterFunc(func(context.Context, client.Object) (helmclient.ActionInterface, error) { return helm{}, nil }),
		func(_ context.Context, object client.Object) (Referenced, error) {
			finds++
			if object != collector {
				t.Errorf("asked for %v", object)
			}
			return Referenced{Secret: "gateway-config", Hash: configHash}, missing
		})
	for name, render := range map[string]func(helmclient.ActionInterface) (*release.Release, error){
		"install": func(actions helmclient.ActionInterface) (*release.Release, error) {
			return actions.Install("gateway", "acme", deploymentChart, nil)
		},
		"upgrade": func(actions helmclient.ActionInterface) (*release.Release, error) {
			return actions.Upgrade("gateway", "acme", deploymentChart, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			finds, missing = 0, nil
			pass, err := clients.ActionClientFor(t.Context(), collector)
			if err != nil || finds > 0 {
				t.Fatalf("looked %d times before the pass rendered, error %v", finds, err)
			}
			for range 2 {
				rel, err := render(pass)
				if err != nil {
					t.Fatalf("unexpected error: %v", err)
				}
				if _, got, _ := strings.Cut(rel.Manifest, "deployment.yaml\n"); got != stampedDeployment {
					t.Errorf("manifest (-want +got):\n%s", cmp.Diff(stampedDeployment, got))
				}
			}
			if finds != 1 {
				t.Errorf("looked %d times in one pass", finds)
			}

			missing = &ConfigurationError{Field: "spec.field", Missing: true, Reason: "gone"}
			if pass, err = clients.ActionClientFor(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			if _, err = render(pass); !errors.Is(err, missing) {
				t.Errorf("got error %v, want that of the next pass, and not only its text", err)
			}
		})
	}
}
