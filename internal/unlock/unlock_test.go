package unlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// helm is an action client that reads releases, and removes the revisions of one.
type helm struct {
	helmclient.ActionInterface
	config *action.Configuration
}

func (h helm) Config() *action.Configuration { return h.config }

func (h helm) Get(name string, _ ...helmclient.GetOption) (*release.Release, error) {
	return h.config.Releases.Last(name)
}

func (h helm) Uninstall(name string, _ ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	history, err := h.config.Releases.History(name)
	for _, rel := range history {
		_, err = h.config.Releases.Delete(name, rel.Version)
	}
	return nil, err
}

// storageWith returns a storage with a release whose second revision has a status, for as long as that.
func storageWith(t *testing.T, status release.Status, pending time.Duration) *storage.Storage {
	t.Helper()
	releases := storage.Init(driver.NewMemory())
	for version, status := range map[int]release.Status{1: release.StatusDeployed, 2: status} {
		info := &release.Info{Status: status, LastDeployed: helmtime.Now().Add(-pending)}
		if err := releases.Create(&release.Release{Name: "gateway", Namespace: "default", Version: version, Info: info}); err != nil {
			t.Fatal(err)
		}
	}
	return releases
}

// clientFor returns a decorated client, and where its events go.
func clientFor(t *testing.T, releases *storage.Storage, grace time.Duration) (helmclient.ActionInterface, *record.FakeRecorder) {
	t.Helper()
	events := record.NewFakeRecorder(2)
	getter := Getter{Grace: grace, Events: events, Next: helmclient.ActionClientGetterFunc(
		func(context.Context, client.Object) (helmclient.ActionInterface, error) {
			return helm{config: &action.Configuration{Releases: releases}}, nil
		})}
	actions, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{})
	if err != nil {
		t.Fatal(err)
	}
	return actions, events
}

// statuses returns the status of both revisions.
func statuses(t *testing.T, releases *storage.Storage) [2]release.Status {
	t.Helper()
	var found [2]release.Status
	for i := range found {
		rel, err := releases.Get("gateway", i+1)
		if err != nil {
			t.Fatal(err)
		}
		found[i] = rel.Info.Status
	}
	return found
}

func TestARevisionThatIsPendingWhenAPassBegins(t *testing.T) {
	for name, row := range map[string]struct {
		status         release.Status
		pending, grace time.Duration
		want           release.Status
		refused        bool
	}{
		"has failed, where this operator alone is active: install":  {status: release.StatusPendingInstall, want: release.StatusFailed},
		"has failed, where this operator alone is active: upgrade":  {status: release.StatusPendingUpgrade, want: release.StatusFailed},
		"has failed, where this operator alone is active: rollback": {status: release.StatusPendingRollback, want: release.StatusFailed},
		"has failed, when another operator had its time": {
			status: release.StatusPendingUpgrade, pending: Grace + time.Second, grace: Grace, want: release.StatusFailed,
		},
		"is another operator's before that: install": {
			status: release.StatusPendingInstall, grace: Grace, want: release.StatusPendingInstall, refused: true,
		},
		"is another operator's before that: upgrade": {
			status: release.StatusPendingUpgrade, pending: Grace - time.Minute, grace: Grace, want: release.StatusPendingUpgrade, refused: true,
		},
		"is not pending but deployed":             {status: release.StatusDeployed, grace: Grace, want: release.StatusDeployed},
		"is not pending but half uninstalled":     {status: release.StatusUninstalling, grace: Grace, want: release.StatusUninstalling},
		"is not pending but failed already":       {status: release.StatusFailed, grace: Grace, want: release.StatusFailed},
		"is not pending but deployed, no other's": {status: release.StatusDeployed, want: release.StatusDeployed},
	} {
		t.Run(name, func(t *testing.T) {
			releases := storageWith(t, row.status, row.pending)
			actions, events := clientFor(t, releases, row.grace)
			got, err := actions.Get("gateway")
			if (err != nil) != row.refused {
				t.Fatalf("got %v, %v", got, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "release gateway is "+row.status.String()+" since ") {
				t.Errorf("the error does not say what is the matter: %v", err)
			}
			if err == nil && got.Info.Status != row.want {
				t.Errorf("got %s, want %s", got.Info.Status, row.want)
			}
			if stored := statuses(t, releases); stored != [2]release.Status{release.StatusDeployed, row.want} {
				t.Errorf("stored are %s, want the second %s", stored, row.want)
			}
			if unlocked := row.status != row.want; len(events.Events) == 1 != unlocked {
				t.Errorf("%d events", len(events.Events))
			} else if unlocked {
				if event := <-events.Events; !strings.HasPrefix(event, "Warning Unlocked revision 2 ") {
					t.Errorf("the event is %s", event)
				}
			}
		})
	}
}

func TestAReleaseIsUninstalled(t *testing.T) {
	for name, row := range map[string]struct {
		status         release.Status
		pending, grace time.Duration
		want           bool
	}{
		"where this operator alone is active":                {status: release.StatusPendingUpgrade, want: true},
		"when it is not pending":                             {status: release.StatusDeployed, grace: Grace, want: true},
		"when another operator had its time":                 {status: release.StatusPendingInstall, pending: Grace, grace: Grace, want: true},
		"but not while another operator may be at work":      {status: release.StatusPendingInstall, grace: Grace},
		"but not while another operator may be upgrading it": {status: release.StatusPendingUpgrade, pending: Grace / 2, grace: Grace},
	} {
		t.Run(name, func(t *testing.T) {
			releases := storageWith(t, row.status, row.pending)
			actions, _ := clientFor(t, releases, row.grace)
			_, err := actions.Uninstall("gateway")
			if (err == nil) != row.want {
				t.Errorf("got %v", err)
			}
			if _, err := releases.Last("gateway"); errors.Is(err, driver.ErrReleaseNotFound) != row.want {
				t.Errorf("the release: %v", err)
			}
			if _, err := actions.Uninstall("another"); !errors.Is(err, driver.ErrReleaseNotFound) {
				t.Errorf("one that is not there: %v", err)
			}
		})
	}
}
