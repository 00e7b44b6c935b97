package reconcile

import (
	"errors"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// learn finds out what the next decision needs to know after an error, and tells whether it can be another one.
func (r *reconcile) learn(err error) (again bool, failed error) {
	if apply.HasAdopted(err) {
		return true, nil
	}
	if again, failed = r.learned.immutable.Learn(r.ctx, r.clusterOf(r.collector), r.applied, err); again || failed != nil {
		return again, failed
	}
	if _, is := errors.AsType[*apply.GoneError](err); is && r.rendered != nil {
		served, err := r.Discover(r.ctx)
		if err != nil || served.Version == r.rendered.Inputs.Served {
			return false, nil //nolint:nilerr // the cause is reported
		}
		err = r.render()
		return err == nil, err
	}
	return false, nil
}

// learnOfMend is learn after an error of mending.
func (r *reconcile) learnOfMend(err error) (again bool) {
	if apply.HasAdopted(err) {
		return true
	}
	if _, hasGone := errors.AsType[*apply.GoneError](err); hasGone { // the record has a kind that the cluster no longer has
		_, err := r.Discover(r.ctx)
		r.learned.accepted = nil
		return err == nil
	}
	again, failed := r.learned.accepted.Immutable.Learn(r.ctx, r.clusterOf(r.collector), r.applied, err)
	return again && failed == nil
}

// applied returns an object as it was applied for the deployed revision, or nil if there is none, or it is not known what the revision was.
func (r *reconcile) applied(what live.Reference) (*render.Object, error) {
	if r.learned.accepted != nil {
		return r.asApplied(r.learned.accepted.Recorded, what)
	}
	switch recorded, err := r.recorded(r.deployed.Revision); {
	case err == nil:
		return r.asApplied(recorded.Want, what)
	case apply.IsPassing(err):
		return nil, err
	}
	return nil, nil
}

// asApplied returns an object of a revision with the mark of its check, and without a number of pods that another client's autoscaler sets.
func (r *reconcile) asApplied(want plan.Want, what live.Reference) (*render.Object, error) {
	want, err := want.Accepted(want.First(render.Checks))
	object := want.Has(what)
	if err != nil || object == nil || r.scaled.what != what {
		return object, err
	}
	left, err := object.WithoutReplicas()
	return &left, err
}
