package main

import (
	"testing"

	"github.com/kube8/kube8-operator/test/docs"
)

func TestTheReferenceHasEachFlag(t *testing.T) {
	docs.CompareReference(t, "../../docs/reference/operator.md", "The operator's flags", "-run TestTheReferenceHasEachFlag ./cmd/kube8-operator", newCommand())
}
