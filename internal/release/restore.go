package release

import (
	"cmp"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/revision"
)

// repairBeside repairs the deployed revision while another one waits, is checked, or is refused for a cause. A change of the operator
// no longer waits if its predecessor cannot be repaired.
func (r *actionClient) repairBeside(cause error) error {
	if late := r.unrecorded; late != nil && (r.rendered == nil || r.rendered.Hash != late.Hash) {
		if number, err := r.recordsOf(r).Add(r.ctx, late.Manifest(), late.Values); err == nil {
			r.deployed, r.unrecorded, r.until = late.Deployed(number), nil, r.now() // what it replaces is still there
		}
	}
	s := plan.Situation{Deployed: r.deployed.Hash(), View: inventory.View{Objects: r.expected.See(r.found, r.now())}}
	isDisturbed := s.Deployed != "" && (r.disturbed || s.Drifts()) // by this reconcile, or by somebody else
	if !isDisturbed && !r.isMoved {
		return cause
	}
	err := r.repair()
	switch {
	case err == nil:
		return cause
	case cause == nil && r.plan.Verdict == plan.Deferred && !apply.IsPassing(err):
		r.isUnrepairable, r.outcome.Update = true, nil
		if err := r.decide(); err != nil {
			return err
		}
		if r.plan.Verdict != plan.Deferred {
			return r.forward()
		}
		err = fmt.Errorf("pods run without their StatefulSet; mend this, or delete the pods: %w", err)
	}
	err = fmt.Errorf("repair revision %d meanwhile: %w", r.deployed.Revision, err)
	if cause == nil {
		return err
	}
	log.FromContext(r.ctx).Error(err, "the deployed revision is not repaired")
	r.plan.Obstacle = err.Error() // whatever else there is, it is less
	return cause
}

func (r *actionClient) repair() error {
	recorded, err := r.recorded(r.deployed.Revision)
	if err != nil {
		return err
	}
	want, lacks, err := recorded.Restored(r.deployed, r.expected.See(r.found, r.now()))
	if err != nil {
		return err
	}
	s, err := r.situation(want)
	if err != nil {
		return err
	}
	s.Deletes, s.Restores, s.Immutable = false, true, nil // these are of the other revision
	p := r.decision(s)
	r.plan.Obstacle = cmp.Or(r.plan.Obstacle, p.Obstacle)
	if err := errors.Join(p.Err, r.do(true, p.Groups...), lacks); err != nil {
		return err
	}
	r.expected.KeepRepaired(s.View.Objects, r.found, func(what inventory.Reference) bool { return want.Has(what) != nil })
	r.disturbed, r.isUnknown = false, false
	return nil
}

// recorded returns a revision as its record has it, or as it should.
func (r *actionClient) recorded(number int) (*revision.Revision, error) {
	if r.unrecorded != nil && number == r.deployed.Revision {
		return r.unrecorded, nil
	}
	manifest, values, err := r.recordsOf(r).Read(r.ctx, number)
	if err != nil {
		return nil, err
	}
	return r.revisions.Recorded(r.ctx, r.collector, manifest, values, r.rendered)
}

// recallLater takes the revision after that of the status for the deployed one, if there is a record, and all objects are there as the
// record has them: an operator was killed before it told.
func (r *actionClient) recallLater() error {
	number := r.deployed.Revision + 1
	later, err := r.recorded(number)
	switch {
	case apply.IsLost(err):
		return err
	case err != nil:
		return nil //nolint:nilerr // there is none, or it is somebody else's
	}
	isThere, err := later.IsThere(r.found)
	if isThere {
		r.deployed = later.Deployed(number)
	}
	return err
}
