package memory

import (
	"strings"

	"helm.sh/helm/v3/pkg/release"
)

// toWatch returns rel as the reconciler needs it after an install or upgrade: to begin to watch the kinds of its objects.
// It parses all of the manifest for that, and would parse the greater part of each object in vain.
func toWatch(rel *release.Release) *release.Release {
	watched := *rel
	watched.Manifest = heads(rel.Manifest)
	return &watched
}

// heads returns the manifest with only the kind and the metadata of each object. The stock reconciler's post-renderer has
// written it: top-level fields begin a line, and nothing else does so with a letter.
func heads(manifest string) string {
	var out strings.Builder
	keep := true
	for line := range strings.Lines(manifest) {
		switch first := line[0]; {
		case strings.HasPrefix(line, "apiVersion:"), strings.HasPrefix(line, "kind:"), strings.HasPrefix(line, "metadata:"),
			strings.HasPrefix(line, "---"):
			keep = true
		case 'a' <= first && first <= 'z':
			keep = false
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}
