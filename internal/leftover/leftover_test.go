package leftover

import (
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
)

func TestUnfinished(t *testing.T) {
	type revision struct {
		manifest string
		status   release.Status
	}
	for name, test := range map[string]struct {
		history  []revision
		want     []string
		repeated []int
	}{
		"nothing to do after a revision that is deployed": {
			history: []revision{{"a", release.StatusFailed}, {"b", release.StatusDeployed}},
		},
		"an install that was never finished": {
			history: []revision{{"a", release.StatusFailed}},
			want:    []string{"a"},
		},
		"upgrades that failed, the newest first": {
			history: []revision{{"a", release.StatusDeployed}, {"b", release.StatusFailed}, {"c", release.StatusFailed}},
			want:    []string{"c", "b"},
		},
		"upgrades that failed in turns, each once": {
			history: []revision{{"a", release.StatusFailed}, {"b", release.StatusFailed}, {"a", release.StatusFailed}, {"b", release.StatusFailed}},
			want:    []string{"b", "a"}, repeated: []int{2, 1},
		},
		"an upgrade that failed again and again, once": {
			history: []revision{{"a", release.StatusDeployed}, {"b", release.StatusFailed}, {"b", release.StatusFailed}},
			want:    []string{"b"}, repeated: []int{2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			releases := storage.Init(driver.NewMemory())
			for i, revision := range test.history {
				if err := releases.Create(&release.Release{
					Name: "gateway", Version: i + 1, Manifest: revision.manifest, Info: &release.Info{Status: revision.status},
				}); err != nil {
					t.Fatal(err)
				}
			}
			got, repeated, err := unfinished(releases, "gateway")
			if err != nil || !slices.Equal(got, test.want) || !slices.Equal(repeated, test.repeated) {
				t.Errorf("got %q, revisions %d repeated, %v; want %q, %d", got, repeated, err, test.want, test.repeated)
			}
		})
	}
}
