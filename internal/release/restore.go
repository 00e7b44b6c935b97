package release

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/revision"
)

// repairBeside repairs the deployed revision while another one waits, is checked, or is refused for a cause. A change of the operator
// no longer waits if its predecessor cannot be repaired.
func (r *actionClient) repairBeside(cause error) error {
	s := r.harm()
	if r.deployed.Revision == 0 || !s.Drifts() && !r.isMoved {
		return cause
	}
	err := r.failed.err
	isMore := func(what inventory.Reference) bool { return !r.failed.harmed[what] }
	harmed := s.Harmed()
	if err == nil || !r.BackingOff(r.collector) || slices.ContainsFunc(slices.Collect(maps.Keys(harmed)), isMore) {
		err = r.repair()
		if _, hasGone := errors.AsType[*apply.GoneError](err); hasGone { // the record has a kind that the cluster no longer has
			if _, err = r.Discover(r.ctx); err == nil {
				err = r.repair()
			}
		}
		r.failed.err, r.failed.harmed = err, harmed // its own writes bring the next reconcile
	}
	switch {
	case err == nil:
		return cause
	case cause == nil && r.plan.Verdict == plan.Deferred && !apply.IsPassing(err):
		r.isUnrepairable, r.outcome.Update = true, nil
		if err := r.decide(); err != nil {
			return err
		}
		if r.plan.Verdict == plan.Deferred {
			err = fmt.Errorf("pods run without their StatefulSet; mend this, or delete the pods: %w", err)
		} else if cause = r.forward(); cause == nil {
			return nil
		}
	}
	err = fmt.Errorf("repair revision %d meanwhile: %w", r.deployed.Revision, err)
	if cause == nil {
		return err
	}
	log.FromContext(r.ctx).Error(err, "the deployed revision is not repaired")
	if !strings.HasSuffix(err.Error(), cause.Error()) { // whatever else there is, it is less
		r.plan.Obstacle = plan.Steady(r.last.Obstacle, err.Error())
	}
	return cause
}

// harm returns what a decision to repair the deployed revision looks at.
func (r *actionClient) harm() plan.Situation {
	view := drift.View{Objects: r.expected.See(r.found, r.now())}
	return plan.Situation{Deployed: r.deployed.Hash(), Disturbed: r.disturbed, Moved: r.isMoved, View: view}
}

func (r *actionClient) repair() error {
	recorded, missing := r.recorded(r.deployed.Revision)
	if apply.IsPassing(missing) {
		return missing
	}
	if missing != nil {
		recorded = &revision.Revision{} // all may stay, although nobody knows what it should be
	}
	workload := recorded.First(render.Workloads)
	if r.plan.Verdict == plan.Uninstalling && workload != nil && workload.Ref.Kind().Kind != "StatefulSet" {
		return errNoSet
	}
	want, lacks, err := recorded.Restored(r.deployed, r.harm())
	if err != nil {
		return cmp.Or(missing, err)
	}
	clear(r.immutable) // it is of the other revision
	var s plan.Situation
	for again := true; again; {
		if s, err = r.situation(want); err != nil {
			return err
		}
		s.Deletes, s.Restores = false, true
		p := r.decision(s)
		r.plan.Obstacle = cmp.Or(r.plan.Obstacle, p.Obstacle)
		err = errors.Join(p.Err, r.do(true, p.Groups...))
		applied := func(what inventory.Reference) (*render.Object, error) { return want.Has(what), nil }
		isNews, failed := r.immutable.Learn(r.ctx, r.clusterOf(r.collector), applied, err)
		if again, err = isNews || apply.HasAdopted(err), errors.Join(err, failed); err == nil && lacks == nil && r.plan.Revises() {
			err = r.do(true, p.Deletes) // the change was refused after it had created them
		}
	}
	if err = errors.Join(err, lacks); err != nil {
		return err
	}
	r.expects().KeepRepaired(s.View.Objects, r.found, want.Keeps)
	r.disturbed, r.isUnknown = false, false
	return nil
}

// recorded returns a revision as its record has it, or as it should.
func (r *actionClient) recorded(number int) (*revision.Revision, error) {
	content, err := r.records.Read(r.ctx, number)
	if err != nil {
		return nil, err
	}
	return r.revisions.Recorded(r.ctx, r.collector, content, r.rendered)
}
