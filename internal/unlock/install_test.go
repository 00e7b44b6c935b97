package unlock

import (
	"context"
	"testing"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// installer is an action client that installs a release, and stores it with some status.
type installer struct {
	helm
	stored release.Status
}

func (i installer) Install(
	name, namespace string, _ *chart.Chart, _ map[string]any, _ ...helmclient.InstallOption,
) (*release.Release, error) {
	stored := &release.Release{Name: name, Namespace: namespace, Version: 1, Info: &release.Info{Status: i.stored}}
	installed := &release.Release{Name: name, Namespace: namespace, Version: 1, Info: &release.Info{Status: release.StatusDeployed}}
	return installed, i.config.Releases.Create(stored)
}

func TestInstall(t *testing.T) {
	for name, row := range map[string]struct {
		stored  release.Status
		wantErr bool
	}{
		"one that is noted as deployed is done":           {stored: release.StatusDeployed},
		"one that Helm could not note as deployed is not": {stored: release.StatusPendingInstall, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			next := installer{helm{config: &action.Configuration{Releases: storage.Init(driver.NewMemory())}}, row.stored}
			getter := Getter{Next: helmclient.ActionClientGetterFunc(
				func(context.Context, client.Object) (helmclient.ActionInterface, error) { return next, nil })}
			actions, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := actions.Install("gateway", "default", nil, nil); (err != nil) != row.wantErr {
				t.Errorf("got error %v, want one: %t", err, row.wantErr)
			}
		})
	}
}
