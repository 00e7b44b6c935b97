package render

import (
	"runtime"
	"strings"
	"testing"
)

func TestAForgedManifestIsNotExpanded(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	for name, row := range map[string]struct{ manifest, want string }{
		"a manifest of the operator": {"---\n" + service + "---\n# nothing\n", ""},
		"one with a star in a text":  {service + "spec: {host: '*.example.com', text: \"a & b * c\"}\n", ""},
		"one long string, and thousands of aliases of it": {
			service + "a: &a " + strings.Repeat("x", 200<<10) + "\nb: [" + strings.Repeat("*a,", 2000) + "]\n", "has an alias",
		},
		"an alias in a later object": {service + "---\n" + service + "a: &a b\nc: *a\n", "has an alias"},
		"a long prefix of thousands of tags": {
			"%TAG ! tag:" + strings.Repeat("x", 1<<20) + "\n--- #*\n" + service + "a: [" + strings.Repeat("!b x,", 20000) + "]\n", "%TAG",
		},
		"a list of millions": {service + "a: [" + strings.Repeat("x,", 4<<20) + "]\n", "has more than 200000 values"},
		"millions of keys":   {service + strings.Repeat("? a\n", 4<<20), "has more than 200000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseRecorded(row.manifest)
			runtime.ReadMemStats(&after)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 16 {
				t.Errorf("it took %d MiB", allocated)
			}
		})
	}
}
