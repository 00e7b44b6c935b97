package release

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/revision"
)

// look reads what the Collector has. An operator that has just started takes it to be in order if the status says so.
func (r *actionClient) look() error {
	var optional []schema.GroupVersionKind
	if served, err := r.Source.Served(r.ctx); err == nil {
		optional = served.Kinds
	}
	found, err := r.inventory.Of(r.ctx, r.collector, r.Source.Chart.Kinds, optional)
	if err != nil {
		return err
	}
	r.found = found
	if r.expected == nil && r.deployed.IsSeen(r.found) {
		r.expected = drift.ExpectAll(r.found)
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && r.deployed.IsFrom(now) {
			r.latest, r.until = change{now, r.deployed.Hash()}, r.now().Add(now.PartOf(r.Period))
		}
	}
	r.isUnknown = r.isUnknown || r.expected == nil && r.deployed.Revision != 0
	r.isMoved = r.Source.Shard != "" && (r.isMoved || r.isUnknown || r.expected == nil && r.wasTried())
	if r.isMoved {
		if r.found, err = r.live(); err == nil && len(r.found) == 0 && r.deployed.Revision == 0 {
			r.isMoved, r.expected = false, drift.Expectations{} // nobody has begun anything
		}
	}
	r.expected.Note(r.expected.See(r.found, r.now())) // no reconcile begins when an autoscaler sets the number of pods
	return err
}

// wasTried tells whether an operator has reported about the Collector: its first revision may have got stuck halfway.
func (r *actionClient) wasTried() bool {
	reported, _, _ := unstructured.NestedInt64(r.collector.Object, "status", "observedGeneration")
	return reported > 0
}

// mayGoOn returns an error if the Collector is another operator's now, or was meanwhile.
func (r *actionClient) mayGoOn() error {
	key := client.ObjectKeyFromObject(r.collector)
	if r.Source.Shard != "" && (!r.IsChosen(r.ctx, key) || r.remembered(key) != r.entry) {
		return errors.New("the Collector's labels select another operator, or did meanwhile")
	}
	return nil
}

// live reads what the Collector has from the API server.
func (r *actionClient) live() (map[inventory.Reference]inventory.Object, error) {
	served, err := r.Source.Served(r.ctx)
	if err != nil {
		return nil, err // objects would be overlooked
	}
	return r.inventory.OfMoved(r.ctx, r.collector, append(slices.Clone(served.Kinds), r.Source.Chart.Kinds...))
}

// isUnchanged tells whether there is nothing to do, by what is remembered or by what the status says.
func (r *actionClient) isUnchanged() bool {
	now, _, err := r.revisions.Inputs(r.ctx, r.collector)
	if err != nil || r.expected == nil || r.isMoved || r.deployed.Revision == 0 {
		return false
	}
	if r.hasBegun() || r.disturbed || r.latest.Inputs != now || !r.now().Before(r.until) {
		return false
	}
	view := r.expected.See(r.found, r.now())
	p, isUnchanged := plan.Unchanged(view, r.waits, r.now())
	if !isUnchanged {
		return false
	}
	if len(r.waits) > 0 {
		used, _, err := r.inventory.Used(r.ctx, r.collector, r.found)
		if err != nil {
			return false
		}
		if plan.MayPrune(r.waits, r.found, used) {
			return false
		}
	}
	if r.latest.hash != r.deployed.Hash() {
		if r.last.refused.hash == r.latest.hash && r.BackingOff(r.collector) {
			return false
		}
		if r.outcome.Update = r.Waves.Ask(r.collector); r.outcome.Update == nil {
			return false
		}
		p.Verdict = plan.Deferred
	}
	p.Sooner(r.until.Sub(r.now()))
	r.plan = p
	r.summarize(nil)
	r.outcome.Fast = true
	return true
}

// decide decides what to do about what was rendered.
func (r *actionClient) decide() error {
	s, err := r.situation(r.rendered.Want)
	if err != nil {
		return err
	}
	isByOperator := r.rendered.IsByOperator(r.deployed, r.latest.Inputs, inventory.Running(r.found))
	s.ByOperator = isByOperator && !r.isUnrepairable
	if s.ByOperator && s.Failed == nil {
		r.outcome.Update = r.Waves.Ask(r.collector)
		s.Turn = r.outcome.Update == nil
	}
	r.plan = r.decision(s)
	return nil
}

// situation returns what a decision looks at.
func (r *actionClient) situation(want plan.Want) (s plan.Situation, err error) {
	s = plan.Situation{
		Now: r.now(), Deletes: r.collector.GetDeletionTimestamp() != nil, Deployed: r.deployed.Hash(), Want: want, Moved: r.isMoved,
		Immutable: r.immutable, Disturbed: r.disturbed, History: record.LimitOf(r.collector),
		View: drift.View{Objects: r.expected.See(r.found, r.now())},
	}
	pods, _, _ := unstructured.NestedInt64(r.collector.Object, "status", "replicas")
	s.Pods = int32(pods) //nolint:gosec // the API server has it as an int32
	_, s.Conflicted = errors.AsType[*inventory.ConflictError](r.last.Err)
	if r.rendered != nil && r.last.refused == (change{r.rendered.Inputs, want.Hash}) {
		if refused, is := errors.AsType[*apply.RefusedError](r.last.Err); is {
			s.Refused = refused.Ref
		}
		if r.BackingOff(r.collector) {
			s.Failed = r.last.Err
		}
	} else if r.last.refused == (change{}) { // an earlier operator may have met it
		s.Refused = apply.ToldRefused(v1alpha1.ConditionOf(r.collector, "ReleaseFailed").Message, want.Objects)
	}
	if checked, isCheck := errors.AsType[*plan.CheckError](r.last.Err); isCheck {
		s.Told = checked.Job
	}
	needsUsed, runs := s.Deployed != want.Hash, false
	for what, seen := range s.View.Objects {
		needsUsed = needsUsed || want.Has(what) == nil
		runs = runs || inventory.IsWorkload(what.Kind().Kind) && seen.State != drift.Lost
	}
	if needsUsed || !runs { // mostly nothing is left over, and nobody needs to know about pods
		s.View.Used, s.View.Orphans, err = r.inventory.Used(r.ctx, r.collector, r.found)
	}
	return s, err
}

// prepare decides what to do about what is rendered now.
func (r *actionClient) prepare() error {
	if err := r.recall(); err != nil {
		return err
	}
	if err := r.render(); err != nil {
		return r.repairBeside(err)
	}
	return r.decide()
}

// render renders the Collector, unless it is refused, and from the same inputs.
func (r *actionClient) render() error {
	if refused, is := errors.AsType[*revision.RefusedError](r.last.Err); is {
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && now == refused.Inputs {
			return refused
		}
	}
	rendered, err := r.revisions.Render(r.ctx, r.collector, r.values, inventory.Running(r.found))
	if err == nil {
		r.rendered = rendered
	}
	return err
}

// tellUnfollowed says with a new revision, once as long as the operator runs, what its pods refer to without being rolled.
func (r *actionClient) tellUnfollowed(err error) {
	if err != nil || r.rendered == nil || r.rendered.Unfollowed == r.lacked {
		return
	}
	if r.lacked = r.rendered.Unfollowed; r.lacked != "" {
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "NotFollowed",
			"without the label %s, or not there: %.800s; pods keep what they have when it changes, until you add %[1]s=%[3]s to it",
			v1alpha1.CollectorLabel, r.lacked, r.collector.GetName())
	}
}
