package unlock

import (
	"context"
	"testing"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helm is an action client that only reads releases.
type helm struct {
	helmclient.ActionInterface
	config *action.Configuration
}

func (h helm) Config() *action.Configuration { return h.config }

func (h helm) Get(name string, _ ...helmclient.GetOption) (*release.Release, error) {
	return h.config.Releases.Last(name)
}

func TestARevisionThatIsPendingWhenAPassBeginsHasFailed(t *testing.T) {
	for _, row := range []struct{ status, want release.Status }{
		{release.StatusPendingInstall, release.StatusFailed},
		{release.StatusPendingUpgrade, release.StatusFailed},
		{release.StatusPendingRollback, release.StatusFailed},
		{release.StatusDeployed, release.StatusDeployed},
		{release.StatusUninstalling, release.StatusUninstalling},
	} {
		t.Run(row.status.String(), func(t *testing.T) {
			config := &action.Configuration{Releases: storage.Init(driver.NewMemory())}
			for version, status := range map[int]release.Status{1: release.StatusDeployed, 2: row.status} {
				rel := &release.Release{Name: "gateway", Namespace: "default", Version: version, Info: &release.Info{Status: status}}
				if err := config.Releases.Create(rel); err != nil {
					t.Fatal(err)
				}
			}
			getter := NewActionClientGetter(helmclient.ActionClientGetterFunc(
				func(context.Context, client.Object) (helmclient.ActionInterface, error) {
					return helm{config: config}, nil
				}))
			actions, err := getter.ActionClientFor(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := actions.Get("gateway")
			if err != nil {
				t.Fatal(err)
			}
			stored, err := config.Releases.Get("gateway", 2)
			if err != nil {
				t.Fatal(err)
			}
			if got.Info.Status != row.want || stored.Info.Status != row.want {
				t.Errorf("got %s, stored %s, want %s", got.Info.Status, stored.Info.Status, row.want)
			}
			if first, err := config.Releases.Get("gateway", 1); err != nil || first.Info.Status != release.StatusDeployed {
				t.Errorf("revision 1 is not what it was: %v, %v", first, err)
			}
		})
	}
}
