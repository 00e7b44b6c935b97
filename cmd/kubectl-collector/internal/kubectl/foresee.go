package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/claims"
)

// foresee writes what becomes of what a Collector has, and returns a refusedError if the operator would refuse the change of its spec for
// that. before is nil if there is none yet.
func foresee(ctx context.Context, s *session, out io.Writer, before, after *unstructured.Unstructured) error {
	if before == nil {
		return nil
	}
	was, is := &v1alpha1.Collector{}, &v1alpha1.Collector{}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if err := errors.Join(convert(before.Object, was), convert(after.Object, is)); err != nil {
		return fmt.Errorf("read the Collector: %w", err)
	}
	says, err := claims.Foresee(ctx, s.client, was, is)
	for _, sentence := range says {
		fmt.Fprintln(out, sentence)
	}
	if err != nil {
		return refusedError{fmt.Errorf("the operator would refuse it: %w", err)}
	}
	return nil
}
