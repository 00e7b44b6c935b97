package kubectl

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube8/kube8-operator/test/docs"
)

func TestTheReferenceHasEachCommand(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), "")
	docs.CompareReference(t, "../../../../docs/reference/plugin.md", "The plugin kubectl collector",
		"-run TestTheReferenceHasEachCommand ./cmd/kubectl-collector/internal/kubectl", root)
}
