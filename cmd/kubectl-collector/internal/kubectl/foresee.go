package kubectl

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/claims"
)

// foresee writes what becomes of what a Collector has, and returns a refusedError if the operator would refuse the change of its spec for
// that. before is nil if there is none yet.
func foresee(ctx context.Context, s *session, out io.Writer, before, after *unstructured.Unstructured) error {
	if before == nil {
		return nil
	}
	says, err := claims.Foresee(ctx, s.client, before, after)
	for _, sentence := range says {
		fmt.Fprintln(out, sentence)
	}
	if err != nil {
		return refusedError{fmt.Errorf("the operator would refuse it: %w", err)}
	}
	return nil
}
