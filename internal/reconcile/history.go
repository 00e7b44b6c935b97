package reconcile

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
)

// mostLater is how many records of changes that the status does not tell of are withdrawn: anyone who can write Secrets can make some.
const mostLater = 16

// noneByDigest says that no revision has begun, by a digest of what the informer cache showed. It may have been late.
var noneByDigest = &v1alpha1.RecordedRevision{}

// recall finds a revision that has begun. It asks nothing about a Collector that has neither a deployed revision nor an object: there, the
// creation of the record tells.
func (r *reconcile) recall() error {
	if r.isBare() {
		return nil
	}
	return r.findBegun()
}

// isBare tells whether a Collector has neither a deployed revision nor an object.
func (r *reconcile) isBare() bool { return r.deployed.Revision == 0 && len(r.found) == 0 }

// findBegun finds a revision that has begun and that the status does not tell of: an operator began it before this one started, or the
// answer to its record was lost.
func (r *reconcile) findBegun() error {
	next, found := r.deployed.Revision+1, &v1alpha1.RecordedRevision{}
	switch {
	case r.begun != nil && (*r.begun == *found || r.begun.UID != ""):
		return nil
	case r.begun != nil:
		next = int(r.begun.Revision)
	case r.deployed.Revision == 0: // only a list tells of a first revision
		if err := r.records.Prepare(r.ctx); err != nil {
			return err
		}
		next = 0
		if kept := r.records.Kept(); len(kept) > 0 {
			next = int(kept[len(kept)-1].Revision)
		}
	}
	if next > 0 {
		switch recorded, err := r.recorded(next); {
		case err == nil:
			found = &v1alpha1.RecordedRevision{
				Revision: int64(next), UID: recorded.Record, Hash: recorded.Hash, Generation: recorded.Inputs.Generation,
			}
			if err := r.withdrawLater(next + 1); err != nil {
				return err
			}
		case apply.IsPassing(err):
			return err
		}
	}
	if r.hasBegun() && found.Revision == 0 {
		r.losesTrack()
	}
	r.begun, r.touched = found, r.touched || r.expected == nil
	return nil
}

// withdrawLater takes back the records from a number on, after one that the status does not tell of: an operator whose status was not
// written has begun other changes before it ended.
func (r *reconcile) withdrawLater(from int) (err error) {
	for later := from; err == nil && later < from+mostLater; later++ {
		var content history.Content
		if content, err = r.records.Read(r.ctx, later); err == nil {
			err = r.records.Withdraw(r.ctx, v1alpha1.RecordedRevision{Revision: int64(later), UID: content.UID})
		}
	}
	if apply.IsPassing(err) {
		return err
	}
	return nil // there is no other, or it is of another owner
}

// begin records what is rendered, unless it is.
func (r *reconcile) begin(p plan.Plan) error {
	if r.hasBegun() && r.begun.Hash == r.rendered.Hash && r.begun.Generation == r.rendered.Inputs.Generation {
		return nil
	}
	if r.begun != nil { // it is no new Collector
		if err := r.records.Prepare(r.ctx); err != nil {
			return err
		}
	}
	wasBegun := r.hasBegun()
	switch err := r.withdraw(); {
	case apply.IsPassing(err):
		return err
	case err != nil: // the record stays, because its deletion is forbidden: the next number is free
		log.FromContext(r.ctx).Info("could not withdraw the record of the change before", "because", err.Error())
	}
	r.rendered.Attribute(cache.ChangerOf(r.collector), r.deployed, r.latest.Inputs, live.Running(r.found))
	content := r.rendered.Content()
	content.Secrets = p.Creates("Secret")
	begun, err := r.records.Begin(r.ctx, content)
	switch {
	case err == nil || apply.IsPassing(err): // it may be there
		r.begun, r.touched = &begun, wasBegun && r.touched
	case wasBegun:
		r.losesTrack()
	}
	return err
}

// losesTrack notes that no record tells of what the change before has left, such as a canary.
func (r *reconcile) losesTrack() {
	if r.touched {
		r.isUnknown, r.expected = true, nil
	}
}

// withdraw takes back the record of a revision that was begun and not accepted: Helm shows the accepted one again.
func (r *reconcile) withdraw() error {
	if !r.hasBegun() {
		return nil
	}
	err := r.records.Withdraw(r.ctx, *r.begun)
	if err == nil {
		r.begun = &v1alpha1.RecordedRevision{}
	}
	return err
}

// accept accepts what is rendered, and remembers it: the status points to it.
func (r *reconcile) accept(p plan.Plan) {
	for _, expected := range r.expected {
		expected.Pending = false
	}
	number := r.deployed.Revision
	if p.Revises() {
		number = int(r.begun.Revision)
		r.records.Accept(r.ctx, *r.begun)
		r.begun = &v1alpha1.RecordedRevision{}
	}
	r.isUnknown, r.unmended = false, unmended{}
	r.learned.accepted, r.learned.unmended = nil, nil // as all that is known of the revision before
	r.remember()
	r.deployed = r.rendered.Deployed(number)
}

// remember remembers what was rendered, and from what.
func (r *reconcile) remember() {
	r.latest, r.until = change{r.rendered.Inputs, r.rendered.Hash}, r.now().Add(r.Period)
}

// readAccepted returns what must serve, as its record has it.
func (r *reconcile) readAccepted(s plan.Situation) (*plan.Accepted, error) {
	recorded, missing := r.recorded(r.deployed.Revision)
	if apply.IsPassing(missing) {
		return nil, missing
	}
	if missing != nil {
		recorded = &history.Revision{} // all may stay, although what it should be is unknown
	}
	accepted := &plan.Accepted{Recorded: recorded.Want, Immutable: apply.Immutables{}}
	var err error
	accepted.Want, accepted.Lacks, err = recorded.Restored(r.deployed, s)
	if err != nil {
		accepted.Err = cmp.Or(missing, err)
	}
	return accepted, nil
}

// recorded returns a revision as its record has it.
func (r *reconcile) recorded(number int) (*history.Revision, error) {
	content, err := r.records.Read(r.ctx, number)
	if err != nil {
		return nil, err
	}
	return r.revisions.Recorded(r.ctx, r.collector, content, r.rendered)
}
