package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/foretell"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// foresee writes what becomes of what a Collector has. It returns a refusedError if the operator would refuse the change of its spec for
// what is in the cluster, and another error if that is not known. before is nil if there is none yet. objects are what the operator makes
// of after.
func foresee(
	ctx context.Context, s *session, out io.Writer, before, after *unstructured.Unstructured, objects []*unstructured.Unstructured,
) error {
	owner := after
	if before != nil {
		owner = before
	}
	err := s.taken(ctx, owner, objects)
	if before != nil && err == nil {
		var says []string
		says, err = foretell.Claims(ctx, s.client, before, after)
		for _, sentence := range says {
			fmt.Fprintln(out, sentence)
		}
	}
	if isDecision(err) {
		return refusedError{fmt.Errorf("the operator would refuse it: %w", err)}
	}
	return err
}

// isDecision tells whether an error is what the operator, the API server or a policy says of a change. Any other one says that it could not
// be asked.
func isDecision(err error) bool {
	return errors.As(err, new(*live.ConflictError)) || errors.As(err, new(*specpath.FieldsError)) ||
		apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || err != nil && admission.MatchString(err.Error())
}

// taken returns what the operator would say of objects that a Collector needs and that exist with another owner. It skips objects that
// the user cannot read.
func (s *session) taken(ctx context.Context, owner *unstructured.Unstructured, objects []*unstructured.Unstructured) error {
	conflicts := make([]error, 0, len(objects))
	for _, object := range objects {
		current := &metav1.PartialObjectMetadata{}
		current.SetGroupVersionKind(object.GroupVersionKind())
		switch err := s.client.Get(ctx, client.ObjectKeyFromObject(object), current); {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
			continue
		case err != nil:
			return fmt.Errorf("read %s %q: %w", object.GetKind(), object.GetName(), err)
		}
		conflicts = append(conflicts, live.Verify(current, owner, live.NewReference(object.GroupVersionKind(), object.GetName())))
	}
	return errors.Join(conflicts...)
}
