package once

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// NewDriver returns a driver that stores releases in secrets as Helm's does, but reads them once in a pass, over one
// Collector, for which it is. It leaves the chart's templates and values out of what it stores: the operator has them,
// the release has the values that were used, and Helm needs no more for what it can do with a stored release. Its log
// stays off: it would show releases that it cannot read.
func NewDriver(secrets corev1client.SecretInterface) driver.Driver {
	return &releases{Secrets: driver.NewSecrets(secrets), secrets: secrets}
}

// releases is Helm's driver, with what it has read and written.
type releases struct {
	*driver.Secrets
	secrets corev1client.SecretInterface

	read  string                      // the name of the release that is known, or "" for none
	known map[string]*release.Release // its revisions, by key
}

// Query returns the revisions of a release that have all of the labels.
func (r *releases) Query(labels map[string]string) ([]*release.Release, error) {
	name := labels["name"]
	if status, owner := labels["status"], labels["owner"]; name == "" || owner != "helm" ||
		len(labels) > 3 || len(labels) == 3 && status == "" {
		return r.Secrets.Query(labels)
	}
	if r.read != name {
		found, err := r.Secrets.Query(map[string]string{"name": name, "owner": "helm"})
		if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return nil, err
		}
		r.read, r.known = name, map[string]*release.Release{}
		for _, revision := range found {
			r.known[keyOf(revision)] = revision
		}
	}
	var found []*release.Release
	for _, key := range slices.Sorted(maps.Keys(r.known)) {
		if status := labels["status"]; status == "" || status == r.known[key].Info.Status.String() {
			found = append(found, clone(r.known[key]))
		}
	}
	if len(found) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return found, nil
}

// Get returns a revision.
func (r *releases) Get(key string) (*release.Release, error) {
	if revision, known := r.known[key]; known {
		return clone(revision), nil
	}
	return r.Secrets.Get(key)
}

// Create stores a new revision.
func (r *releases) Create(key string, revision *release.Release) error {
	return r.wrote(key, revision, r.Secrets.Create(key, withoutTemplates(revision)))
}

// Update stores a revision anew.
func (r *releases) Update(key string, revision *release.Release) error {
	return r.wrote(key, revision, r.Secrets.Update(key, withoutTemplates(revision)))
}

// wrote takes note of a revision that was stored. If that failed, it can be stored all the same.
func (r *releases) wrote(key string, revision *release.Release, err error) error {
	switch {
	case err != nil:
		r.read, r.known = "", nil
	case r.read == revision.Name:
		r.known[key] = clone(revision)
	}
	return err
}

// Delete removes a revision, and returns it.
func (r *releases) Delete(key string) (*release.Release, error) {
	revision, known := r.known[key]
	if !known {
		return r.Secrets.Delete(key)
	}
	err := r.secrets.Delete(context.Background(), key, metav1.DeleteOptions{})
	switch {
	case err == nil:
		delete(r.known, key)
		return revision, nil
	case apierrors.IsNotFound(err):
		err = driver.ErrReleaseNotFound // as Helm's driver says it
	default:
		err = fmt.Errorf("remove revision %d of release %s: %w", revision.Version, revision.Name, err)
	}
	r.read, r.known = "", nil
	return nil, err
}

// keyOf returns the key of a revision, which is its Secret's name (helm.sh/helm/v3/pkg/storage, makeKey).
func keyOf(revision *release.Release) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, revision.Name, revision.Version)
}

// clone returns a copy of what Helm changes of a release.
func clone(revision *release.Release) *release.Release {
	copied, info := *revision, *revision.Info
	copied.Info, copied.Labels = &info, maps.Clone(revision.Labels)
	return &copied
}

func withoutTemplates(revision *release.Release) *release.Release {
	copied := *revision
	if revision.Chart != nil {
		copied.Chart = &chart.Chart{Metadata: revision.Chart.Metadata}
	}
	return &copied
}
