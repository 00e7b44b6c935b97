package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

	// maxUnpacked is how many bytes a record may have when it is unpacked: one of 1 MiB can become 1,000 times as much.
	maxUnpacked = 16 << 20

	// maxTokens is how many tokens of JSON it may have then. A list of empty lists takes a hundred times its text when it is parsed.
	maxTokens = 100000
)

// contentOf returns the data of the Secret of a release: its text as deployed and, if there is room, as superseded. The content of
// bases goes first if all is too large, then the values go, and then the manifest.
func contentOf(rel *release.Release) (map[string][]byte, error) {
	var deployed, superseded []byte
	for _, shorten := range []func(){
		func() {},
		func() { rel.Config = withoutContent(rel.Config) },
		func() { rel.Config, rel.Info.Description = nil, tooLarge+"the values, see the Collector" },
		func() { rel.Manifest, rel.Info.Description = "", tooLarge+"values and manifest, see the Collector" },
	} {
		shorten()
		var err error
		if deployed, superseded, err = pack(rel); err != nil {
			return nil, err
		}
		if len(deployed) <= maxRecord {
			break
		}
	}
	content := map[string][]byte{"release": deployed}
	if len(deployed)+len(superseded) <= maxRecord {
		content[release.StatusSuperseded.String()] = superseded
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
	rel, err := Unpack(secret.Data["release"])
	if err != nil {
		return of, fmt.Errorf("read the record of revision %d: %w", revision, err)
	}
	if rel.Manifest == "" {
		return of, fmt.Errorf("the record of revision %d has no manifest: %w", revision, errors.ErrUnsupported)
	}
	found := recordedIn(secret, revision)
	return Content{Manifest: rel.Manifest, Values: rel.Config, Generation: found.Generation, UID: found.UID}, nil
}

// packer packs releases. There is one, because it has buffers of nearly a megabyte.
var (
	packer  = gzip.NewWriter(nil)
	packing sync.Mutex
)

// pack packs a release as Helm stores it, as deployed and as superseded. Gzip allows several members in a text. The last one has all
// that follows the status, which is nearly all, and both share it.
func pack(rel *release.Release) (deployed, superseded []byte, err error) {
	rel.Info.Status = release.StatusDeployed
	text, err := json.Marshal(rel)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what it packs
	}
	const status = `"status":"`
	before, after, _ := bytes.Cut(text, []byte(status+release.StatusDeployed)) // no text in JSON has such a quotation mark
	packing.Lock()
	defer packing.Unlock()
	rest := member(after)
	encoded := func(of release.Status) []byte {
		begin := member(slices.Concat(before, []byte(status+of)))
		return base64.StdEncoding.AppendEncode(nil, append(begin, rest...))
	}
	return encoded(release.StatusDeployed), encoded(release.StatusSuperseded), nil
}

// member returns a member of gzip. Writing to a buffer never fails.
func member(text []byte) []byte {
	var packed bytes.Buffer
	packer.Reset(&packed)
	_, _ = packer.Write(text)
	_ = packer.Close()
	return packed.Bytes()
}

// Unpack reads a Helm release from the data of its Secret. It refuses to unpack more than 16 MiB, and more than 100,000 tokens of JSON.
func Unpack(packed []byte) (*release.Release, error) {
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("unpack it: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack it: %w", err)
	}
	if len(text) > maxUnpacked {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for count := 0; ; count++ {
		if count > maxTokens {
			return nil, fmt.Errorf("it has more than %d tokens of JSON", maxTokens)
		}
		if _, err := decoder.Token(); err != nil {
			break // the end, or what the next step refuses
		}
	}
	rel := &release.Release{}
	if err := json.Unmarshal(text, rel); err != nil {
		return nil, errors.New("it is not a release") // the parser's reason may quote it
	}
	return rel, nil
}
