package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// look reads what the Collector has. An operator that has just started takes it to be in order if the status says so.
func (r *reconcile) look() error {
	var optional []schema.GroupVersionKind
	if served, err := r.Source.Served(r.ctx); err == nil {
		optional = served.Kinds
	}
	found, err := r.live.Of(r.ctx, r.collector, r.Source.Chart.Kinds, optional)
	if err != nil {
		return err
	}
	r.found = found
	if r.expected == nil && r.deployed.IsSeen(r.found) {
		r.expected = live.ExpectAll(r.found)
		if r.deployed.Generation == r.collector.GetGeneration() && !rollout.IsOnItsWay(r.collector) { // nothing has begun since
			r.begun = noneByDigest
		}
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && r.deployed.IsFrom(now) {
			r.latest, r.until = change{now, r.deployed.Hash()}, r.now().Add(now.PartOf(r.Period))
		}
	}
	r.isUnknown = r.isUnknown || r.expected == nil && r.deployed.Revision != 0
	r.expected.Note(r.expected.See(r.found, r.now())) // no reconcile begins when an autoscaler sets the number of pods
	return nil
}

// unchanged returns the plan if there is nothing to do, by what is remembered or by what the status says. now is what the Collector must be
// rendered from, if that could be read.
func (r *reconcile) unchanged(now history.Inputs, isRead bool) (p plan.Plan, is bool) {
	isKnown := isRead && r.expected != nil && r.begun != nil && !r.hasBegun()
	isDeferred := r.latest.hash != r.deployed.Hash() // a change of the operator waits
	if !isKnown || r.latest.Inputs != now || isDeferred && r.refused == r.latest {
		return p, false
	}
	p, is = plan.Unchanged(plan.Remembered{
		Now: r.now(), Until: r.until, Objects: r.expected.See(r.found, r.now()), ToPrune: r.toPrune, IsDeferred: isDeferred,
		ScaledBy: r.scaled.by, Scaled: r.scaled.what, NextLook: r.scaled.until,
	})
	return p, is && !r.mayPrune() && !r.lacksClaims()
}

// findScaler looks for an autoscaler of another client, once in a reconcile that sees its trace.
func (r *reconcile) findScaler(s *plan.Situation) error {
	workload, may := s.MayBeScaled()
	if may && r.learned.scaler == nil {
		found, err := r.live.Scaler(r.ctx, r.collector, workload, r.found)
		if err != nil {
			return err
		}
		r.learned.scaler = &found
	}
	r.scaled = scaled{}
	if may && *r.learned.scaler != "" {
		s.ScaledBy, s.Scaled = *r.learned.scaler, workload
		r.scaled = scaled{s.ScaledBy, workload, r.now().Add(plan.ScaledPeriod)}
	}
	return nil
}

// awaitsTurn asks for the Collector's turn to take a change of the operator, and tells whether it has not come.
func (r *reconcile) awaitsTurn() bool {
	r.outcome.Update = r.Waves.Ask(r.collector)
	return r.outcome.Update != nil
}

// mayPrune tells whether something that waits to be pruned may go now, or whether that is not known.
func (r *reconcile) mayPrune() bool {
	if len(r.toPrune) == 0 {
		return false
	}
	used, _, err := r.live.Used(r.ctx, r.collector, r.found)
	return err != nil || plan.MayPrune(r.toPrune, r.found, used)
}

// lacksClaims tells whether a pod has not the claims of its StatefulSet, or whether that is not known.
func (r *reconcile) lacksClaims() bool {
	for what, object := range r.found {
		if what.Kind().Kind == "StatefulSet" {
			_, pods, err := r.live.Used(r.ctx, r.collector, r.found)
			return err != nil || slices.ContainsFunc(live.OfSet(pods), object.Renews)
		}
	}
	return false
}

// situation returns what a decision looks at.
func (r *reconcile) situation() (s plan.Situation, err error) {
	s = plan.Situation{
		Now: r.now(), Deletes: r.collector.GetDeletionTimestamp() != nil, Deployed: r.deployed.Hash(), Begun: r.hasBegun() && r.touched,
		Refusal: r.learned.refused, Accepted: r.learned.accepted, Unmended: r.learned.unmended, Immutable: r.learned.immutable,
		History: history.LimitOf(r.collector), View: live.View{Objects: r.expected.See(r.found, r.now())},
	}
	if s.Deletes {
		policy, _, _ := unstructured.NestedString(r.collector.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
		s.Late, s.Retains = r.isLate(), policy == "Retain"
		if s.Disowned, err = r.live.Disowned(r.ctx, r.collector, r.Source.Chart.Kinds); err != nil {
			return s, err
		}
	}
	pods, _, _ := unstructured.NestedInt64(r.collector.Object, "status", "replicas")
	s.Pods = int32(pods) //nolint:gosec // the API server has it as an int32
	_, s.Conflicted = errors.AsType[*live.ConflictError](r.last.Err)
	if checked, isCheck := errors.AsType[*plan.CheckError](r.last.Err); isCheck {
		s.Reported = checked.Job
	}
	if s.Unmended == nil && r.BackingOff(r.collector) && r.unmended.covers(s.Harmed()) {
		s.Unmended = r.unmended.err
	}
	if r.rendered != nil {
		if s.Canary, err = r.canary(); err != nil {
			return s, err
		}
		r.situateChange(&s)
	}
	if err := r.findScaler(&s); err != nil {
		return s, err
	}
	isDue := !r.now().Before(r.until) // a watch that had stopped may have kept pods from being seen
	needsUsed, runs := s.Deployed != s.Want.Hash || r.isUnknown || len(r.toPrune) > 0 || isDue, false
	for what, seen := range s.View.Objects {
		needsUsed = needsUsed || s.Want.Has(what) == nil
		runs = runs || live.IsWorkload(what.Kind().Kind) && seen.State != live.Lost
		needsUsed = needsUsed || what.Kind().Kind == "StatefulSet"
	}
	if needsUsed || !runs { // mostly nothing is left over, and no step needs to know about pods
		var all []live.Pod
		s.View.Used, all, err = r.live.Used(r.ctx, r.collector, r.found)
		s.View.Pods = live.OfSet(all)
		s.View.Orphans = live.Orphans(s.View.Pods)
		r.compare(&s, all)
	}
	return s, err
}

// situateChange adds what is known of what is rendered.
func (r *reconcile) situateChange(s *plan.Situation) {
	s.Want = r.rendered.Want
	switch r.refused {
	case change{r.rendered.Inputs, r.rendered.Hash}:
		isOver := isRolledBack(r.last.Err) && s.IsPromoted()
		if refused, is := errors.AsType[*apply.RefusedError](r.last.Err); is {
			s.Refused = refused.Ref
			isOver = s.View.Objects[refused.Ref].State == live.Lost // a user has made room for the change
		}
		if r.BackingOff(r.collector) && !isOver {
			s.Failed = r.last.Err
		}
	case change{}: // an earlier operator may have met it
		s.Refused = apply.ReportedRefusal(r.collector, s.Want.Objects)
	}
	s.ByOperator = r.isByOperator()
	if s.ByOperator && s.Failed == nil && !s.IsRejected() {
		s.Turn = !r.awaitsTurn()
	}
}

// isByOperator tells whether what is rendered, or refused, is a change of the operator that has to wait for its turn. It does not wait if
// nothing else can mend what is deployed, or if it has begun without a turn.
func (r *reconcile) isByOperator() bool {
	mayWait := !apply.Stays(r.learned.unmended) && !r.beganWithoutTurn()
	return mayWait && r.rendered.IsByOperator(r.deployed, r.latest.Inputs, live.Running(r.found))
}

// beganWithoutTurn tells whether an owner's change has begun. Pods may already refer to what the owner has renewed, so that no longer tells
// who has changed anything. A change of the operator has waited for its turn, as the status or the memory tells.
func (r *reconcile) beganWithoutTurn() bool {
	if r.rendered == nil || !r.hasBegun() || r.latest.hash == r.begun.Hash || r.latest.hash == r.rendered.Hash {
		return false
	}
	update := v1alpha1.ConditionOf(r.collector, v1alpha1.UpdatePending).Reason
	return (update == "" || update == v1alpha1.ReasonBaseRefused) && r.reportedCanary().RolledBack == ""
}

// covers tells whether nothing more is harmed now than when the deployed revision could not be mended.
func (u unmended) covers(harmed map[live.Reference]bool) bool {
	for what := range harmed {
		if !u.harmed[what] {
			return false
		}
	}
	return u.err != nil
}

// render renders the Collector, unless it is refused, and from the same inputs.
func (r *reconcile) render() (err error) {
	if refused, is := errors.AsType[*history.RenderError](r.last.Err); is {
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && now == refused.Of.Inputs {
			r.rendered = refused.Of
			return refused
		}
	}
	r.rendered, err = r.revisions.Render(r.ctx, r.collector, r.values, live.Running(r.found))
	return err
}

// summarize gives the informer cache a moment to show what was applied, and says how the objects are. err is that of the reconcile.
func (r *reconcile) summarize(err error) {
	isInOrder, isHeld := r.expected.AreInOrder(r.found, r.toPrune, r.now())
	if !isInOrder && r.cacheWait > 0 && r.outcome.Message == "" {
		_ = wait.PollUntilContextTimeout(r.ctx, 2*time.Millisecond, r.cacheWait, true, func(context.Context) (bool, error) {
			err := r.look()
			isInOrder, isHeld = r.expected.AreInOrder(r.found, r.toPrune, r.now())
			return isInOrder && err == nil, err
		})
	}
	// While a change waits or is refused, it is not known which of the objects wait to be pruned.
	// An operator that starts asks again who scales.
	isOfDeployed := r.scaled.by == "" && r.outcome.Verdict != plan.Deferred && (r.rendered == nil || r.rendered.Hash == r.deployed.Hash())
	if isInOrder && !r.isUnknown && !r.hasBegun() && isOfDeployed && err == nil { // what was refused is not in order
		r.deployed.Seen(r.found, r.toPrune)
	}
	if r.rendered != nil { // of what the informer cache does not have yet, or has no more
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && now != r.rendered.Inputs {
			r.sooner(live.CacheDelay)
		}
	}
	if !isInOrder && !isHeld && r.outcome.Message == "" || r.outcome.Message != "" && r.wrote {
		r.sooner(live.CacheDelay)
	}
	r.outcome.InOrder = isInOrder
}

// sooner has the Collector looked at again after a delay, or earlier.
func (r *reconcile) sooner(delay time.Duration) {
	if r.outcome.Requeue == 0 || delay < r.outcome.Requeue {
		r.outcome.Requeue = max(delay, time.Millisecond)
	}
}

// reportUnfollowed says with a new revision, once as long as the operator runs, what its pods refer to without being rolled.
func (r *reconcile) reportUnfollowed(err error) {
	if err != nil || r.rendered == nil || r.rendered.Unfollowed == r.lacked {
		return
	}
	if r.lacked = r.rendered.Unfollowed; r.lacked != "" {
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "NotFollowed",
			"without the label %s, or not there: %.800s; pods keep what they have when it changes, until you add %[1]s=%[3]s to it",
			v1alpha1.CollectorLabel, r.lacked, r.collector.GetName())
	}
}
