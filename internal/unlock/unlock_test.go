package unlock

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
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

// Upgrade makes a revision, of which it hears nothing.
func (h helm) Upgrade(name, _ string, _ *chart.Chart, _ map[string]any, opts ...helmclient.UpgradeOption) (*release.Release, error) {
	upgrade := &action.Upgrade{}
	for _, option := range opts {
		if err := option(upgrade); err != nil {
			return nil, err
		}
	}
	rel := pendingRevision(name, release.StatusPendingUpgrade, time.Now())
	rel.Labels = upgrade.Labels
	return nil, errors.Join(h.config.Releases.Create(rel), errors.New("the answer was lost"))
}

// pendingRevision returns the second revision of a release.
func pendingRevision(name string, status release.Status, made time.Time) *release.Release {
	info := &release.Info{Status: status, LastDeployed: helmtime.Time{Time: made.Round(0)}}
	return &release.Release{Name: name, Namespace: "default", Version: 2, Info: info}
}

// newStorage returns a storage with a release that has one revision, which is deployed.
func newStorage(t *testing.T) *storage.Storage {
	t.Helper()
	releases := storage.Init(driver.NewMemory())
	if err := releases.Create(&release.Release{
		Name: "gateway", Namespace: "default", Version: 1, Info: &release.Info{Status: release.StatusDeployed},
	}); err != nil {
		t.Fatal(err)
	}
	return releases
}

// newGetter returns a decorated getter whose operator made its first pass an hour ago, and where its events go.
func newGetter(releases *storage.Storage, leaderElection bool) (*Getter, *record.FakeRecorder) {
	events := record.NewFakeRecorder(2)
	return &Getter{
		LeaderElection: leaderElection, Operator: rand.Text(), Events: events, began: time.Now().Add(-time.Hour),
		Next: helmclient.ActionClientGetterFunc(func(context.Context, client.Object) (helmclient.ActionInterface, error) {
			return helm{config: &action.Configuration{Releases: releases}}, nil
		}),
	}, events
}

// pass begins a pass over a Collector.
func pass(t *testing.T, getter *Getter) helmclient.ActionInterface {
	t.Helper()
	collector := &unstructured.Unstructured{}
	collector.SetUID("1")
	actions, err := getter.ActionClientFor(t.Context(), collector)
	if err != nil {
		t.Fatal(err)
	}
	return actions
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
	const ago = -time.Minute
	for name, row := range map[string]struct {
		status         release.Status
		made           time.Duration // from now
		leaderElection bool
		want           release.Status
	}{
		"was left by the leader before this one: install":      {release.StatusPendingInstall, -2 * time.Hour, true, release.StatusFailed},
		"was left by the leader before this one: upgrade":      {release.StatusPendingUpgrade, -2 * time.Hour, true, release.StatusFailed},
		"was left by the leader before this one: rollback":     {release.StatusPendingRollback, -2 * time.Hour, true, release.StatusFailed},
		"is the next leader's, if made since this one leads":   {release.StatusPendingUpgrade, ago, true, release.StatusPendingUpgrade},
		"is another operator's: install":                       {release.StatusPendingInstall, ago, false, release.StatusPendingInstall},
		"is another operator's: upgrade":                       {release.StatusPendingUpgrade, time.Second - Grace, false, release.StatusPendingUpgrade},
		"was left by another operator that had its time":       {release.StatusPendingUpgrade, -Grace, false, release.StatusFailed},
		"was left by the next leader, when it had its time":    {release.StatusPendingUpgrade, -Grace, true, release.StatusFailed},
		"is another operator's whose clock is ahead":           {release.StatusPendingUpgrade, -ago, false, release.StatusPendingUpgrade},
		"is not pending but deployed":                          {release.StatusDeployed, ago, false, release.StatusDeployed},
		"is not pending but half uninstalled":                  {release.StatusUninstalling, ago, false, release.StatusUninstalling},
		"is not pending but deployed by the leader before":     {release.StatusDeployed, -2 * time.Hour, true, release.StatusDeployed},
		"is not pending but failed under the leader before it": {release.StatusFailed, -2 * time.Hour, true, release.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			releases := newStorage(t)
			if err := releases.Create(pendingRevision("gateway", row.status, time.Now().Add(row.made))); err != nil {
				t.Fatal(err)
			}
			getter, events := newGetter(releases, row.leaderElection)
			got, err := pass(t, getter).Get("gateway")

			if refused := row.want.IsPending(); refused != (err != nil) {
				t.Fatalf("got %v, %v", got, err)
			} else if refused && !strings.HasPrefix(err.Error(), "release gateway is "+row.status.String()+" since ") {
				t.Errorf("the error does not say what is the matter: %v", err)
			} else if !refused && got.Info.Status != row.want {
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

func TestARevisionOfWhichThisOperatorLostTheAnswerIsItsOwn(t *testing.T) {
	for name, leaderElection := range map[string]bool{"with leader election": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			releases := newStorage(t)
			getter, _ := newGetter(releases, leaderElection)
			if _, err := pass(t, getter).Upgrade("gateway", "default", nil, nil); err == nil {
				t.Fatal("it was to fail")
			}
			another, _ := newGetter(releases, leaderElection)
			if rel, err := pass(t, another).Get("gateway"); err == nil {
				t.Errorf("another operator got %s", rel.Info.Status)
			}
			if rel, err := pass(t, getter).Get("gateway"); err != nil || rel.Info.Status != release.StatusFailed {
				t.Errorf("got %v, %v", rel, err)
			}
		})
	}
}

func TestAReleaseIsUninstalled(t *testing.T) {
	for name, row := range map[string]struct {
		status         release.Status
		made           time.Duration // from now
		leaderElection bool
		want           bool
	}{
		"that the leader before this one left":   {release.StatusPendingUpgrade, -2 * time.Hour, true, true},
		"that is not pending":                    {release.StatusDeployed, 0, false, true},
		"that another operator has left":         {release.StatusPendingInstall, -Grace, false, true},
		"but none that another may work on":      {release.StatusPendingInstall, 0, false, false},
		"but none that the next leader works on": {release.StatusPendingUpgrade, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			releases := newStorage(t)
			if err := releases.Create(pendingRevision("gateway", row.status, time.Now().Add(row.made))); err != nil {
				t.Fatal(err)
			}
			getter, _ := newGetter(releases, row.leaderElection)
			actions := pass(t, getter)
			if _, err := actions.Uninstall("gateway"); (err == nil) != row.want {
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
