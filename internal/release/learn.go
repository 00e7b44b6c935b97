package release

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
)

// learn finds out what the next decision needs to know after an error, and tells whether it can be another one.
func (r *actionClient) learn(err error) (again bool, failed error) {
	immutable, gone := (*apply.ImmutableError)(nil), (*apply.GoneError)(nil)
	switch {
	case errors.As(err, &immutable):
		if _, isKnown := r.immutable[immutable.Ref]; isKnown {
			return false, nil
		}
		found, err := r.inspect(immutable)
		if err != nil {
			return false, err
		}
		if r.immutable == nil {
			r.immutable = map[inventory.Reference]plan.Immutable{}
		}
		r.immutable[immutable.Ref] = found
		return true, nil
	case errors.As(err, &gone):
		offered, err := r.Ask(r.ctx)
		if err != nil || offered.Version == r.rendered.Inputs.Offered {
			return false, nil //nolint:nilerr // the cause is told
		}
		return true, r.render()
	}
	return false, nil
}

// inspect reads a StatefulSet that cannot be changed, and its claims.
func (r *actionClient) inspect(immutable *apply.ImmutableError) (plan.Immutable, error) {
	found := plan.Immutable{Err: immutable}
	if immutable.Ref.Kind().Kind != "StatefulSet" {
		return found, nil
	}
	cluster := r.clusterOf(r.collector)
	live, err := cluster.Read(r.ctx, immutable.Ref)
	if err != nil || live == nil {
		return found, err
	}
	found.Live, found.Wanted = &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if err := errors.Join(convert(live.Object, found.Live), convert(immutable.Object.Content.Object, found.Wanted)); err != nil {
		return found, fmt.Errorf("read %s: %w", immutable.Ref, err)
	}
	found.Claims, err = cluster.Claims(r.ctx, found.Live.Spec.Selector.MatchLabels)
	return found, err
}
