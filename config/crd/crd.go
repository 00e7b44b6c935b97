// Package crd carries the Collector's CustomResourceDefinition into the binary, so that a Collector can be checked
// without a cluster.
package crd

import _ "embed"

// Collector is the CustomResourceDefinition, in YAML.
//
//go:embed bases/kube8.dev_collectors.yaml
var Collector []byte
