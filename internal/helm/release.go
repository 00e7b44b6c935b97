package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

// Words in the Secrets that have releases, and limits of what is read from them.
const (
	RecordPrefix = "sh.helm.release.v1." // begins their names
	RecordType   = "helm.sh/release.v1"  // their type

	maxUnpacked = 16 << 20 // bytes of a release that is unpacked: one of 1 MiB can become 1,000 times as much
	maxTokens   = 100000   // of JSON in it: a list of empty lists takes a hundred times its text when it is parsed
)

// Selector returns the labels that all Secrets of a release have.
func Selector(name string) map[string]string { return map[string]string{"owner": "helm", "name": name} }

// LabelsOf returns the labels of the Secret of a release that is deployed now.
func LabelsOf(rel *Release) map[string]string {
	labels := Selector(rel.Name)
	labels["status"], labels["version"] = Deployed.String(), strconv.Itoa(rel.Version)
	labels["createdAt"] = strconv.FormatInt(time.Now().Unix(), 10)
	return labels
}

// packer packs releases. There is one, because it has buffers of nearly a megabyte.
var (
	packer  = gzip.NewWriter(nil)
	packing sync.Mutex
)

// Pack packs a release as Helm stores it, as deployed and as superseded. Gzip allows several members in a text. The last one has all
// that follows the status, which is nearly all, and both share it.
func Pack(rel *Release) (deployed, superseded []byte, err error) {
	rel.Info.Status = Deployed
	text, err := json.Marshal(rel)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what it packs
	}
	const status = `"status":"`
	before, after, _ := bytes.Cut(text, []byte(status+Deployed)) // no text in JSON has such a quotation mark
	packing.Lock()
	defer packing.Unlock()
	rest := member(after)
	encoded := func(of release.Status) []byte {
		begin := member(slices.Concat(before, []byte(status+of)))
		return base64.StdEncoding.AppendEncode(nil, append(begin, rest...))
	}
	return encoded(Deployed), encoded(Superseded), nil
}

// member returns a member of gzip. Writing to a buffer never fails.
func member(text []byte) []byte {
	var packed bytes.Buffer
	packer.Reset(&packed)
	_, _ = packer.Write(text)
	_ = packer.Close()
	return packed.Bytes()
}

// Unpack reads a release from the data of its Secret. It refuses to unpack more than 16 MiB, and more than 100,000 tokens of JSON.
func Unpack(packed []byte) (*Release, error) {
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
	rel := &Release{}
	if err := json.Unmarshal(text, rel); err != nil {
		return nil, errors.New("it is not a release") // the parser's reason may quote it
	}
	return rel, nil
}
