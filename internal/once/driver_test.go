package once

import (
	"errors"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newStorage returns a storage with a release of some revisions, the last of which is deployed, and what it asks.
func newStorage(t *testing.T, revisions int) (*storage.Storage, *fake.Clientset) {
	t.Helper()
	cluster := fake.NewClientset()
	releases := storage.Init(NewDriver(cluster.CoreV1().Secrets("acme")))
	for version := range revisions {
		status := release.StatusSuperseded
		if version+1 == revisions {
			status = release.StatusDeployed
		}
		if err := releases.Create(revision(version+1, status)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.ClearActions()
	return storage.Init(NewDriver(cluster.CoreV1().Secrets("acme"))), cluster
}

func revision(version int, status release.Status) *release.Release {
	return &release.Release{
		Name: "gateway", Namespace: "acme", Version: version, Info: &release.Info{Status: status}, Manifest: "kind: Service\n",
		Chart: &chart.Chart{
			Metadata:  &chart.Metadata{Name: "collector"},
			Templates: []*chart.File{{Name: "templates/service.yaml", Data: []byte("kind: Service")}},
		},
	}
}

// verbs returns what was asked since the last time.
func verbs(cluster *fake.Clientset) (asked []string) {
	for _, action := range cluster.Actions() {
		asked = append(asked, action.GetVerb())
	}
	cluster.ClearActions()
	return asked
}

func TestAPassReadsItsReleasesOnce(t *testing.T) {
	releases, cluster := newStorage(t, 3)
	releases.MaxHistory = 3
	last, err := releases.Last("gateway")
	if err != nil || last.Version != 3 {
		t.Fatalf("the last revision: %+v, %v", last, err)
	}
	last.Info.Status = release.StatusSuperseded // as Helm does, before it stores it
	for name, read := range map[string]func() (*release.Release, error){
		"by number":   func() (*release.Release, error) { return releases.Get("gateway", 3) },
		"as the last": func() (*release.Release, error) { return releases.Last("gateway") },
		"as deployed": func() (*release.Release, error) { return releases.Deployed("gateway") },
	} {
		if again, err := read(); err != nil || again.Version != 3 || again.Info.Status != release.StatusDeployed {
			t.Errorf("read again %s: %+v, %v", name, again, err)
		}
	}
	if got, want := verbs(cluster), []string{"list"}; !slices.Equal(got, want) {
		t.Errorf("asked to %q, want %q", got, want)
	}
	if err := releases.Create(revision(4, release.StatusPendingUpgrade)); err != nil { // which removes the first
		t.Fatal(err)
	}
	if err := releases.Update(last); err != nil {
		t.Fatal(err)
	}
	history, err := releases.History("gateway")
	if err != nil || len(history) != 3 {
		t.Errorf("%d revisions, %v", len(history), err)
	}
	if deployed, err := releases.Deployed("gateway"); !errors.Is(err, driver.ErrNoDeployedReleases) {
		t.Errorf("deployed: %+v, %v", deployed, err)
	}
	if _, err := releases.Get("gateway", 1); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("the removed revision: %v", err)
	}
	// The last one because what is not known is asked for.
	if got, want := verbs(cluster), []string{"delete", "create", "update", "get"}; !slices.Equal(got, want) {
		t.Errorf("asked to %q, want %q", got, want)
	}
}

func TestAReleaseThatDoesNotExistIsLookedForOnce(t *testing.T) {
	releases, cluster := newStorage(t, 0)
	for range 3 {
		if history, err := releases.History("gateway"); !errors.Is(err, driver.ErrReleaseNotFound) {
			t.Errorf("got %v, %v", history, err)
		}
	}
	if got, want := verbs(cluster), []string{"list"}; !slices.Equal(got, want) {
		t.Errorf("asked to %q, want %q", got, want)
	}
}

func TestAfterAFailureReleasesAreReadAgain(t *testing.T) {
	for name, do := range map[string]func(*storage.Storage) error{
		"create": func(s *storage.Storage) error { return s.Create(revision(2, release.StatusPendingUpgrade)) },
		"update": func(s *storage.Storage) error { return s.Update(revision(1, release.StatusSuperseded)) },
		"delete": func(s *storage.Storage) error { _, err := s.Delete("gateway", 1); return err },
	} {
		t.Run(name, func(t *testing.T) {
			releases, cluster := newStorage(t, 1)
			if _, err := releases.Last("gateway"); err != nil {
				t.Fatal(err)
			}
			cluster.PrependReactor(name, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("the answer was lost")
			})
			if err := do(releases); err == nil {
				t.Fatal("no error")
			}
			if _, err := releases.Last("gateway"); err != nil {
				t.Fatal(err)
			}
			if got, want := verbs(cluster), []string{"list", name, "list"}; !slices.Equal(got, want) {
				t.Errorf("asked to %q, want %q", got, want)
			}
		})
	}
}

func TestTemplatesAreNotStored(t *testing.T) {
	releases, cluster := newStorage(t, 0)
	if err := releases.Create(revision(1, release.StatusPendingInstall)); err != nil {
		t.Fatal(err)
	}
	written := revision(1, release.StatusDeployed)
	if err := releases.Update(written); err != nil {
		t.Fatal(err)
	}
	if len(written.Chart.Templates) == 0 {
		t.Error("the chart that goes on being used has lost its templates")
	}
	stored, err := storage.Init(driver.NewSecrets(cluster.CoreV1().Secrets("acme"))).Get("gateway", 1)
	if err != nil {
		t.Fatal(err)
	}
	if stored.Chart.Name() != "collector" || len(stored.Chart.Templates) > 0 || stored.Manifest == "" {
		t.Errorf("stored: %+v", stored)
	}
}
