// Package docs carries pages of this folder into the kubectl plugin and the example portal, so that what these say of a Collector is
// what the pages say.
package docs

import "embed"

// Files are reference/conditions.md, whose table says what the reasons of the condition Ready mean, reference/causes.md, and the runbooks.
//
//go:embed reference/causes.md reference/conditions.md runbooks/*.md
var Files embed.FS
