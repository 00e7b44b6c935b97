package main

import (
	"flag"
	"testing"

	"github.com/kube8/kube8-operator/test/docs"
)

var update = flag.Bool("update", false, "write docs/reference/operator.md")

func TestTheReferenceHasEachFlag(t *testing.T) {
	docs.CompareReference(t, *update, "../../docs/reference/operator.md", "The operator's flags", "-run TestTheReferenceHasEachFlag ./cmd/kube8-operator", newCommand())
}
