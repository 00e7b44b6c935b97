package history

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/helm"
)

// Content is what the record of a revision says.
type Content struct {
	Manifest string
	Values   map[string]any

	// Generation is that of the Collector. 0 says that it is not known.
	Generation int64

	// ChangedBy says who has changed what the revision is made from, if that is known.
	ChangedBy string

	// Hash is that of the rendered objects, and Secrets is how many of these are created once the revision has begun. The record has no such
	// field.
	Hash    string
	Secrets int

	// UID is that of the record that was read.
	UID types.UID
}

const (
	// defaultLimit is how many revisions are kept, if the spec does not say.
	defaultLimit = 10

	// ChangedByPrefix begins the description of a record that tells who has changed the Collector.
	ChangedByPrefix = "changed by "
)

// contentOf returns the data of the Secret of a release: its text as deployed and, if there is room, as superseded. The content of
// bases goes first if all is too large, then the values go, and then the manifest.
func contentOf(rel *helm.Release) (map[string][]byte, error) {
	var deployed, superseded []byte
	for _, shorten := range []func(){
		func() {},
		func() { rel.Config = withoutContent(rel.Config) },
		func() { rel.Config, rel.Info.Description = nil, tooLarge+"the values, see the Collector" },
		func() { rel.Manifest, rel.Info.Description = "", tooLarge+"values and manifest, see the Collector" },
	} {
		shorten()
		var err error
		if deployed, superseded, err = helm.Pack(rel); err != nil {
			return nil, err
		}
		if len(deployed) <= maxRecord {
			break
		}
	}
	content := map[string][]byte{"release": deployed}
	if len(deployed)+len(superseded) <= maxRecord {
		content[helm.Superseded.String()] = superseded
	}
	return content, nil
}

// withoutContent returns values without what the platform's bases contain. Their names and versions stay, for the history.
func withoutContent(values map[string]any) map[string]any {
	bases, _ := values["bases"].([]any)
	if len(bases) == 0 {
		return values
	}
	named := make([]any, 0, len(bases))
	for _, base := range bases {
		fields, _ := base.(map[string]any)
		fields = maps.Clone(fields)
		delete(fields, "content")
		named = append(named, fields)
	}
	values = maps.Clone(values)
	values["bases"] = named
	return values
}

// LimitOf returns how many revisions of a Collector are kept: their records, and their Secrets with configurations.
func LimitOf(collector *unstructured.Unstructured) int {
	if limit, found, err := unstructured.NestedInt64(collector.Object, "spec", "revisionHistoryLimit"); found && err == nil {
		return int(limit)
	}
	return defaultLimit
}

// description returns what `helm history` says of a revision.
func description(changedBy string) string {
	if changedBy == "" {
		return "deployed by kube8-operator"
	}
	return ChangedByPrefix + changedBy
}

// Read returns what is recorded of a revision. The caller verifies it.
func (r *Records) Read(ctx context.Context, revision int) (of Content, err error) {
	secret, err := r.get(ctx, revision)
	if err != nil {
		return of, err
	}
	rel, err := helm.Unpack(secret.Data["release"])
	if err != nil {
		return of, fmt.Errorf("read the record of revision %d: %w", revision, err)
	}
	if rel.Manifest == "" {
		return of, fmt.Errorf("the record of revision %d has no manifest: %w", revision, errors.ErrUnsupported)
	}
	found := recordedIn(secret, revision)
	return Content{Manifest: rel.Manifest, Values: rel.Config, Generation: found.Generation, UID: found.UID}, nil
}
