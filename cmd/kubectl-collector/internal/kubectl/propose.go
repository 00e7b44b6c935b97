package kubectl

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
)

// proposal is what people read of another spec.
type proposal struct {
	as   string // the name of the spec in the difference
	same string // why nothing changes, if nothing does
	done string // what was done
}

// propose shows how a spec differs from that of a Collector, checks it, asks for a confirmation, and sends it.
func (p *plugin) propose(
	ctx context.Context, s *session, whole *unstructured.Unstructured, spec map[string]any, given consent, of proposal,
) error {
	current, _, err := unstructured.NestedMap(whole.Object, "spec")
	if err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	if history.Same(spec, current) {
		return p.done(whole.GetName(), "unchanged: "+of.same)
	}
	text, err := differenceOf(whole.GetName()+"/spec", fmt.Sprintf("%s/spec (%s)", whole.GetName(), of.as), current, spec)
	if err != nil {
		return err
	}
	if err := p.paint(text, diffColour); err != nil {
		return err
	}
	after := whole.DeepCopy()
	after.Object["spec"] = spec
	objects, err := rendered(ctx, s, after, p.warn)
	if err != nil {
		return err
	}
	if err := foresee(ctx, s, p.ErrOut, whole, after, objects); err != nil {
		return err
	}
	read := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: whole.GetNamespace(), Name: whole.GetName()}}
	if err := p.confirm(ctx, given, read); err != nil {
		return err
	}
	if err := s.replace(ctx, whole, spec); err != nil {
		return err
	}
	return p.done(whole.GetName(), of.done)
}

// replace writes a spec, unless another client has changed the Collector's since it was read. A status that was written since is no
// obstacle.
func (s *session) replace(ctx context.Context, read *unstructured.Unstructured, spec map[string]any) (err error) {
	for now := read.DeepCopy(); ; {
		if now.GetUID() != read.GetUID() || now.GetGeneration() != read.GetGeneration() {
			return changedError{read.GetNamespace(), read.GetName()}
		}
		now.Object["spec"] = spec
		s.mark(ctx, now, read.GetGeneration()+1)
		err := s.client.Update(ctx, now, client.FieldValidation(metav1.FieldValidationStrict))
		if err == nil {
			return s.unmark(ctx, now, read.GetGeneration())
		}
		if !apierrors.IsConflict(err) {
			return s.failed("change", read.GetName(), err)
		}
		if now, err = s.whole(ctx, read.GetName()); err != nil {
			return err
		}
	}
}
