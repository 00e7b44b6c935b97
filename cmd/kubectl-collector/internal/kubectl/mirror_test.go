package kubectl

import "testing"

func TestAnImageIsFromWhereTheOneThatRunsIs(t *testing.T) {
	for name, row := range map[string]struct{ image, running, want string }{
		"a mirror":                   {"ghcr.io/o/otel:2", "mirror:5000/o/otel:1", "mirror:5000/o/otel:2"},
		"a mirror, and a digest":     {"ghcr.io/o/otel:2", "mirror/otel@sha256:a", "mirror/otel:2"},
		"the same registry":          {"ghcr.io/o/otel:2", "ghcr.io/o/otel:1", "ghcr.io/o/otel:2"},
		"nothing runs":               {"ghcr.io/o/otel:2", "", "ghcr.io/o/otel:2"},
		"another collector runs":     {"ghcr.io/o/otel:2", "mirror/vector:1", "ghcr.io/o/otel:2"},
		"a digest decides":           {"ghcr.io/o/otel@sha256:b", "mirror/otel:1", "ghcr.io/o/otel@sha256:b"},
		"a mirror without a folder":  {"ghcr.io/o/otel:2", "mirror/otel:1", "mirror/otel:2"},
		"an image without registry":  {"otel:2", "mirror/otel:1", "mirror/otel:2"},
		"a version that has a v":     {"ghcr.io/o/otel:v2", "mirror/otel:v1", "mirror/otel:v2"},
		"an image without a version": {"ghcr.io/o/otel", "mirror/otel:1", "ghcr.io/o/otel"},
	} {
		if got := mirrored(row.image, row.running); got != row.want {
			t.Errorf("%s: %s, and not %s", name, got, row.want)
		}
	}
}
