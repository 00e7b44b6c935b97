// Package history reads which revisions of a Collector were deployed. The operator records them in Helm release Secrets. Their
// configurations are in immutable Secrets.
package history

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/helm"
	recorded "github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

// maxRead is how many records are read, which is as many as a Collector can keep.
const maxRead = 20

// Revision is one deployed revision of a Collector.
type Revision struct {
	// Number counts from 1.
	Number int `json:"revision"`

	// Deployed is when the revision was deployed.
	Deployed time.Time `json:"deployed"`

	// Status is Helm's: deployed or superseded.
	Status string `json:"status"`

	// Version is the collector's version, or the image's digest or tag that replaces it. It is empty if the spec was too
	// large to be recorded.
	Version string `json:"version,omitempty"`

	// ChangedBy is who changed the spec, if that is known.
	ChangedBy string `json:"changedBy,omitempty"`

	// Changes say what has changed in the spec since the revision before, if both are recorded.
	Changes []string `json:"changes,omitempty"`

	// ConfigHash is the SHA-256 of the decoded configuration, in hex, or empty.
	ConfigHash string `json:"configHash,omitempty"`

	// Secret is the name of the Secret that has the configuration and the further files. It is empty if there is none, or if
	// the manifest was too large to be recorded.
	Secret string `json:"secret,omitempty"`

	values, defaults map[string]any // the spec with the chart's defaults in it, and these
	bases            any            // what it had of the platform's
	chart            string         // the version of the operator's chart
	template         Template       // of its pods
}

// Of returns the newest recorded revisions of a Collector, as many as one can keep, newest first. A Secret that is damaged, or that the
// Collector does not control, is left out. The error is the API server's if the Secrets may not be read.
func Of(ctx context.Context, c client.Client, collector metav1.Object) ([]Revision, error) {
	secrets := &metav1.PartialObjectMetadataList{} // without their content, because anybody can have written many
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.List(ctx, secrets, client.InNamespace(collector.GetNamespace()),
		client.MatchingLabels(helm.Selector(collector.GetName()))); err != nil {
		return nil, fmt.Errorf("list the Secrets of release %s: %w", collector.GetName(), err)
	}
	names := map[int]string{}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if number, is := recorded.RevisionOf(secret.Name, collector.GetName()); is && metav1.IsControlledBy(secret, collector) {
			names[number] = secret.Name
		}
	}
	numbers := slices.Sorted(maps.Keys(names))
	slices.Reverse(numbers)
	var found []Revision
	for _, number := range numbers[:min(len(numbers), maxRead)] {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: collector.GetNamespace(), Name: names[number]}, secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the record of revision %d: %w", number, err)
		}
		if rel, err := helm.Unpack(secret.Data["release"]); err == nil && rel.Version == number {
			found = append(found, revisionOf(rel, secret.Labels["status"]))
		}
	}
	for i := range found {
		var before *Revision
		if i+1 < len(found) {
			before = &found[i+1]
		}
		found[i].Changes = found[i].changesSince(before)
	}
	return found, nil
}

// kept says how many revisions are recorded.
const kept = "as many are kept as spec.revisionHistoryLimit says, 10 by default"

// Find returns the revision of a number.
func Find(revisions []Revision, number int) (Revision, error) {
	at := slices.IndexFunc(revisions, func(r Revision) bool { return r.Number == number })
	if at < 0 {
		return Revision{}, fmt.Errorf("revision %d is not recorded: %s; `kubectl collector history` lists them", number, kept)
	}
	return revisions[at], nil
}

// Other returns the newest revision whose spec is not the given one: what a Collector can be rolled back to.
func Other(revisions []Revision, spec map[string]any) (Revision, error) {
	for _, revision := range revisions {
		if back := revision.Spec(spec); back != nil && !Same(back, spec) {
			return revision, nil
		}
	}
	return Revision{}, errors.New("no recorded revision differs from the Collector's spec, so there is nothing to roll back to")
}

// Files returns the configuration and the further files of a revision, by the keys of configuration.FileKey. It reads the Secret that the
// pods of that revision mounted.
func (r Revision) Files(ctx context.Context, c client.Client, namespace string) (map[string][]byte, error) {
	if r.Secret == "" {
		return nil, fmt.Errorf("it is not recorded which Secret has the configuration of revision %d", r.Number)
	}
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.Secret}, secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the configuration of revision %d is gone, with Secret %s: %s", r.Number, r.Secret, kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of revision %d: %w", r.Number, err)
	}
	return secret.Data, nil
}

// Bases returns the platform's bases of a revision, as values for the chart. The content of one that was too large to be recorded is in the
// Secret that the pods of the revision mounted.
func (r Revision) Bases(ctx context.Context, c client.Client, namespace string) (bases []any, err error) {
	recorded, _ := r.bases.([]any)
	for _, base := range recorded {
		fields := maps.Clone(asMap(base))
		if file, _ := fields["file"].(string); fields["content"] == nil {
			files, err := r.Files(ctx, c, namespace)
			if err != nil {
				return nil, err
			}
			fields["content"] = base64.StdEncoding.EncodeToString(files[configuration.FileKey(file)])
		}
		bases = append(bases, fields)
	}
	return bases, nil
}

// HasBase tells whether a revision has a base of that name.
func (r Revision) HasBase(name string) bool { return byName(r.bases)[name] != nil }

// Base returns the content that a base of the platform had, or nil if that is not recorded.
func (r Revision) Base(name string) []byte {
	text, _ := asMap(byName(r.bases)[name])["content"].(string)
	if content, err := base64.StdEncoding.DecodeString(text); err == nil && text != "" {
		return content
	}
	return nil
}

func revisionOf(rel *helm.Release, status string) Revision {
	found := Revision{Number: rel.Version, Status: status, values: maps.Clone(rel.Config), bases: rel.Config["bases"]}
	delete(found.values, "bases")
	if rel.Chart != nil && rel.Config != nil {
		found.defaults = rel.Chart.Values
		found.values = with(found.values, found.defaults) // records of earlier operators have them
	}
	if rel.Info != nil {
		found.Deployed = rel.Info.LastDeployed.Time
		if who, isKnown := strings.CutPrefix(rel.Info.Description, recorded.ChangedByPrefix); isKnown {
			found.ChangedBy = who
		}
	}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		found.chart = rel.Chart.Metadata.Version
	}
	found.Version = versionOf(rel.Config)
	if rendered, err := render.ParseRecorded(rel.Manifest); err == nil {
		found.ConfigHash = rendered.ConfigHash()
		for _, object := range rendered.Objects {
			if made := templateIn(object); made != (Template{}) {
				found.template = made
			}
			if _, files := object.GetAnnotations()[postrender.ConfigurationAnnotation]; files && object.GetKind() == "Secret" {
				found.Secret = object.GetName()
			}
		}
	}
	return found
}

// versionOf returns what decides which image runs.
func versionOf(spec map[string]any) string {
	image, _ := spec["image"].(map[string]any)
	collector, _ := spec["collector"].(map[string]any)
	for _, version := range []any{image["digest"], image["tag"], collector["version"]} {
		if text, ok := version.(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// String names a revision for people.
func (r Revision) String() string { return "revision " + strconv.Itoa(r.Number) }
