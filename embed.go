// Package kube8 carries watches.yaml and the charts that it names into the binary, so that `run` and `render` need no file
// beside it. It is in the root of the repository because go:embed reaches nothing above its own folder, and watches.yaml
// has to be here for operator-sdk.
package kube8

import "embed"

// Files are watches.yaml and, of the chart that it names, what Helm renders, by their paths in the repository. The chart's
// tests and its values.schema.json are left out: the operator uses neither.
//
//go:embed watches.yaml
//go:embed helm-charts/collector/Chart.yaml helm-charts/collector/values.yaml all:helm-charts/collector/templates
var Files embed.FS
