package memory

import (
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Deployed says what a deployed release is, without its content.
type Deployed struct {
	// Revision is the release's revision, from 1.
	Revision int

	// Version is what the image is chosen by: its digest, its tag, or the collector's version, as the spec has them.
	Version string

	// ConfigHash is the SHA-256 of the decoded configuration, in hex.
	ConfigHash string

	// Digest is that of the release and all that it was made from, or empty if that is not known.
	Digest string
}

var configHash = regexp.MustCompile(regexp.QuoteMeta(postrender.ConfigHashAnnotation) + `: ['"]?([0-9a-f]{64})`)

func deployedBy(rel *release.Release) Deployed {
	deployed := Deployed{Revision: rel.Version}
	for _, path := range [][]string{{"image", "digest"}, {"image", "tag"}, {"collector", "version"}} {
		if deployed.Version, _, _ = unstructured.NestedString(rel.Config, path...); deployed.Version != "" {
			break
		}
	}
	if found := configHash.FindStringSubmatch(rel.Manifest); found != nil {
		deployed.ConfigHash = strings.Clone(found[1]) // without the manifest
	}
	return deployed
}
