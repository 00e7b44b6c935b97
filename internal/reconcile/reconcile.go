package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/status"
)

// maxDecisions is how often one reconcile decides: each time by something that the API server has told since.
const maxDecisions = 12

// reconcile is one reconcile of a Collector. It starts from the memory of the last one, and leaves a memory for the next one.
type reconcile struct {
	*Clients
	memory
	ctx       context.Context //nolint:containedctx // the stock reconciler's interface has no room for it
	collector *unstructured.Unstructured
	began     time.Time
	records   records

	found     map[live.Reference]live.Object // what the Collector controls, by the informer cache
	isUnknown bool                           // what has happened to that since an operator was last done with it
	values    map[string]any
	rendered  *history.Revision
	learned   learned
	wrote     bool   // steps were done since the last decision so that the message may be out of date
	unproven  string // why the change is deployed without the proof that the spec asks for
	outcome   status.Outcome
}

// learned is what this reconcile has found out for its next decision.
type learned struct {
	refused   error            // why what is wanted is not deployed
	accepted  *plan.Accepted   // what must serve, once that was read
	unmended  error            // why that cannot be mended
	immutable apply.Immutables // of what is wanted
	scaler    *string          // what sets the number of pods, if anything does
	created   []apply.Step     // deletions of what was created, in the order of their creation
}

// newReconcile begins a reconcile. The memory is empty if another operator has deployed a later revision than what is remembered: nothing
// of that holds any more, as after a start.
func (c *Clients) newReconcile(ctx context.Context, collector *unstructured.Unstructured) *reconcile {
	r := &reconcile{
		Clients: c, ctx: ctx, collector: collector, began: c.Waves.Now(), learned: learned{immutable: apply.Immutables{}},
		memory: c.remembered(client.ObjectKeyFromObject(collector)),
	}
	if r.uid != collector.GetUID() {
		r.memory = memory{uid: collector.GetUID()}
	}
	switch reported := history.Recall(collector); {
	case reported.Revision > r.deployed.Revision:
		r.memory = memory{uid: r.uid, deployed: reported}
	case reported.Revision == r.deployed.Revision && reported.History != nil: // another operator may have written it
		r.deployed.History = reported.History
	}
	r.last.InOrder = false // until this reconcile ends, which it does not if it panics
	c.memories.Store(client.ObjectKeyFromObject(collector), r.memory)
	r.records = c.recordsOf(r)
	return r
}

// run makes the cluster what the Collector asks for. It returns what is remembered for the next reconcile, and how this one ended in it.
func (r *reconcile) run() (memory, error) {
	before := r.deployed
	err := r.look()
	if err == nil {
		err = r.act()
		r.summarize(err)
		r.report(before, err)
		r.countCanary(err)
	}
	return r.ended(err), err
}

// act does nothing if nothing has changed, or converges. If nothing can be rendered, that is the refusal of what is wanted.
func (r *reconcile) act() error {
	now, _, err := r.revisions.Inputs(r.ctx, r.collector)
	r.outcome.Refused = now.Refused // empty if nothing is known
	if p, is := r.unchanged(now, err == nil); is && (p.Verdict != plan.Deferred || r.awaitsTurn()) {
		r.outcome.Verdict, r.outcome.Message, r.outcome.Requeue, r.outcome.Fast = p.Verdict, p.Message, p.After, true
		return nil
	}
	if err := r.recall(); err != nil {
		return err
	}
	r.learned.refused = r.render()
	return r.converge()
}

// converge decides what to do, and does it, until the API server tells nothing new.
func (r *reconcile) converge() error {
	for range maxDecisions {
		s, err := r.situation()
		if err != nil {
			return err
		}
		p := r.decision(s)
		if again, err := r.carryOut(s, p); !again {
			r.renew(p.Renews)
			return err
		}
	}
	return errors.New("what the API server says changes again and again")
}

// carryOut does what was decided, and tells whether to decide again.
func (r *reconcile) carryOut(s plan.Situation, p plan.Plan) (again bool, err error) {
	if p.Recalls {
		if r.learned.accepted, err = r.readAccepted(s); err != nil {
			return false, &repairError{r.deployed.Revision, err}
		}
		return true, nil
	}
	r.outcome.Message, r.outcome.Requeue, r.wrote = p.Message, p.After, len(p.Groups) > 0
	if r.outcome.Verdict == "" || r.learned.refused == nil {
		r.outcome.Verdict = p.Verdict
	}
	r.tests(p)
	if err := r.forward(p); err != nil {
		again, failed := r.learn(err)
		switch {
		case again:
			return true, nil
		case apply.IsLost(err), !p.Verdict.IsOfChange():
			return false, errors.Join(err, failed)
		}
		r.learned.refused = errors.Join(err, failed, r.undo(p, err))
		return true, nil // what serves may have to be mended
	}
	return r.mendBeside(s, p)
}

// repairError says why the deployed revision could not be repaired.
type repairError struct {
	revision int
	cause    error
}

func (e *repairError) Error() string {
	return fmt.Sprintf("repair revision %d meanwhile: %s", e.revision, e.cause)
}

func (e *repairError) Unwrap() error { return e.cause }

// mendBeside mends the deployed revision, while another one waits, is checked or is refused.
func (r *reconcile) mendBeside(s plan.Situation, p plan.Plan) (again bool, err error) {
	err = p.Unmended
	if p.Restores && s.Unmended == nil {
		if err == nil {
			err = r.mend(s, p)
		}
		if r.learnOfMend(err) {
			return true, nil
		}
		r.unmended = unmended{err, s.Harmed()} // its own writes bring the next reconcile
	}
	if err == nil {
		if p.Verdict != plan.Proving { // which goes on
			r.touched = r.touched && !p.Restores // nothing is left of what has begun, also if its record stays
			r.settle()
		}
		return false, p.Err
	}
	mayGoOn := p.Verdict == plan.Uninstalling || p.Verdict == plan.Deferred && apply.Stays(err)
	if mayGoOn && r.learned.unmended == nil {
		r.learned.unmended, r.outcome.Update = err, nil
		return true, nil
	}
	err = &repairError{r.deployed.Revision, err}
	if p.Err == nil {
		return false, err
	}
	log.FromContext(r.ctx).Error(err, "the deployed revision is not repaired")
	if !strings.HasSuffix(err.Error(), p.Err.Error()) { // it is no other refusal
		r.outcome.Message = err.Error()
	}
	return false, p.Err
}

// report counts a change, or its refusal, and says what its pods refer to without being rolled.
func (r *reconcile) report(before history.Deployed, err error) {
	isDeployed := r.rendered != nil && before.Revision > 0 && r.rendered.Hash == before.Hash()
	isChange := !r.outcome.Fast && !isDeployed
	isOver := r.outcome.Verdict != plan.Deferred && (!r.outcome.Verdict.Tests() || err != nil)
	if !isChange || !isOver {
		return
	}
	action := metrics.Upgrade
	if before.Revision == 0 {
		action = metrics.Install
	}
	if !isRolledBack(err) { // which counts as a canary
		r.Metrics.Acted(action, err)
	}
	r.reportUnfollowed(err)
	r.reportUnproven(err)
}

// ended returns the memory for the next reconcile, which also has how this one ended, for the status.
func (r *reconcile) ended(err error) memory {
	r.deployed.History = r.records.Kept()
	r.outcome.Err, r.outcome.Deployed = err, r.deployed
	r.refused = change{}
	isOfChange := r.rendered != nil && r.outcome.Verdict.IsOfChange()
	if err != nil && isOfChange && !apply.IsLost(err) {
		r.refused = change{r.rendered.Inputs, r.rendered.Hash}
	}
	if r.proven != r.refused.hash {
		r.proven = ""
	}
	if r.isUnknown {
		r.expected = nil
	}
	if r.outcome.Update == nil {
		r.Waves.Done(r.collector, r.began, err == nil || r.stays(err))
		r.outcome.Update = r.refusedTurn(err)
	}
	r.last = r.outcome
	return r.memory
}

// stays tells whether an error is about a change that was seen, and stays until something changes. No wave waits for it.
func (r *reconcile) stays(err error) bool {
	return errors.As(err, new(*configuration.Error)) || r.rendered != nil && apply.Stays(err)
}

// refusedTurn returns the condition of a Collector whose turn has come, if the operator's change is refused. The spec is deployed, so Ready
// does not tell of that. Ready does tell when canary pods have failed, and when the deployed revision cannot be repaired.
func (r *reconcile) refusedTurn(err error) *v1alpha1.Condition {
	isOther := isRolledBack(err) || errors.As(err, new(*repairError))
	if rollout.IsOnItsWay(r.collector) && !isOther && r.stays(err) && r.isByOperator() {
		return rollout.Refused()
	}
	return nil
}

// settle withdraws what was begun and not accepted, once nothing is left of it that serves. It asks nothing about a bare Collector if the
// status is of this generation, and does not say that a release has failed: the operator that wrote it had withdrawn what it had begun.
// An operator that has started trusts the digest in the status until no change waits. Then it asks: a Secret or a base may have changed
// there and back while no operator ran, or to what is refused.
func (r *reconcile) settle() {
	if r.begun == noneByDigest && !r.outcome.Verdict.Waits() {
		r.begun = nil
	}
	reported, _, _ := unstructured.NestedInt64(r.collector.Object, "status", "observedGeneration")
	hasFailed := v1alpha1.ConditionOf(r.collector, "Ready").Reason == v1alpha1.ReasonReleaseFailed
	if r.begun == nil && r.isBare() && reported == r.collector.GetGeneration() && !hasFailed {
		return
	}
	err := r.findBegun()
	if err == nil {
		err = r.withdraw()
	}
	if err != nil {
		log.FromContext(r.ctx).Info("could not withdraw the record of a change", "because", err.Error())
	}
}

// hasBegun tells whether a revision is recorded that is not accepted yet.
func (r *reconcile) hasBegun() bool { return r.begun != nil && *r.begun != v1alpha1.RecordedRevision{} }
