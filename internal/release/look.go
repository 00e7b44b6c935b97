package release

import (
	"errors"
	"hash/fnv"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
)

// look reads what the Collector has. An operator that has just started takes it to be in order if the status says so.
func (r *actionClient) look() error {
	var optional []schema.GroupVersionKind
	offered, offeredErr := r.capabilities.Get(r.ctx)
	if offeredErr == nil {
		optional = offered.Kinds
	}
	found, err := r.inventory.Of(r.ctx, r.collector, r.chart.Kinds, optional)
	if err != nil {
		return err
	}
	r.found = found
	if r.expected == nil && r.deployed != nil {
		if digest, _, objects := splitDigest(r.deployed.Digest); objects == digestOfObjects(r.found, nil) {
			r.expected = inventory.Expectations{}
			for what, object := range r.found {
				r.expected[what] = inventory.Expect(object)
			}
			if now, err := r.current(); err == nil && digest == r.digestOfInputs(now) {
				// Not all Collectors are rendered again at the same time, one period after a start.
				r.inputs, r.until, r.renders = now, r.now().Add(spreadOver(r.Period, r.uid)), r.hash()
			}
		}
	}
	r.isUnknown = r.isUnknown || r.expected == nil && r.deployed != nil
	if r.isMoved = r.Shard != "" && r.isUnknown; r.isMoved {
		if offeredErr != nil {
			return offeredErr // objects would be overlooked
		}
		if r.found, err = r.inventory.OfMoved(r.ctx, r.collector, append(optional, r.chart.Kinds...)); err != nil {
			return err
		}
	}
	return nil
}

// isUnchanged tells whether there is nothing to do, by what is remembered or by what the status says.
func (r *actionClient) isUnchanged() bool {
	now, err := r.current()
	if err != nil || r.expected == nil || r.isMoved || r.deployed == nil {
		return false
	}
	if r.isUnrecorded || r.inputs != now || !r.now().Before(r.until) {
		return false
	}
	view := r.expected.See(r.found, r.now())
	p := plan.Plan{Verdict: plan.InSync}
	var waits inventory.Reference // of those that are contested the first one, so that the message is always the same
	for what, seen := range view {
		switch {
		case seen.State == inventory.InOrder, r.waits[what]:
		case seen.State == inventory.Contested:
			if waits == (inventory.Reference{}) || what.Use() < waits.Use() {
				waits = what
			}
			p.Sooner(seen.Next.Sub(r.now()))
		default:
			return false
		}
	}
	if seen, isContested := view[waits]; isContested {
		p.Obstruct(plan.Contested, plan.EditorOf(seen.Editor), waits)
	}
	if len(r.waits) > 0 {
		used, _, err := r.inventory.Used(r.ctx, r.collector, r.found)
		if err != nil {
			return false
		}
		for what := range r.waits {
			if object, isThere := r.found[what]; !isThere || !object.Deleting && !used[what.Use()] {
				return false
			}
		}
	}
	if r.renders != r.hash() {
		if r.last.refused.hash == r.renders && r.BackingOff(r.collector) {
			return false
		}
		if r.outcome.Update = r.Waves.Ask(r.collector); r.outcome.Update == nil {
			return false
		}
		p.Verdict = plan.Deferred
	}
	p.Sooner(r.until.Sub(r.now()))
	r.expected.Note(view)
	r.plan = p
	r.summarize()
	r.outcome.Fast = true
	return true
}

// spreadOver returns a part of a period, which is another one for each Collector.
func spreadOver(period time.Duration, collector types.UID) time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(collector)) // fails never
	return time.Duration(float64(period) * float64(sum.Sum32()) / math.MaxUint32)
}

// decide decides what to do about what was rendered.
func (r *actionClient) decide() error {
	s, err := r.situation(r.rendered.Want)
	if err != nil {
		return err
	}
	if s.ByOperator = r.isByOperator() && !r.isUnrepairable; s.ByOperator && s.Failed == nil {
		r.outcome.Update = r.Waves.Ask(r.collector)
		s.Turn = r.outcome.Update == nil
	}
	r.plan = r.decision(s)
	return nil
}

// situation returns what a decision looks at.
func (r *actionClient) situation(want plan.Want) (s plan.Situation, err error) {
	s = plan.Situation{
		Now: r.now(), Deletes: r.collector.GetDeletionTimestamp() != nil, Deployed: r.hash(), Want: want, Moved: r.isMoved,
		Immutable: r.immutable,
		View:      inventory.View{Objects: r.expected.See(r.found, r.now())},
	}
	r.expected.Note(s.View.Objects) // no reconcile begins when an autoscaler sets the number of pods
	_, s.Conflicted = errors.AsType[*inventory.ConflictError](r.last.Err)
	if r.rendered != nil && r.last.refused == (change{r.rendered.inputs, want.Hash}) && r.BackingOff(r.collector) {
		s.Failed = r.last.Err
	}
	if checked, isCheck := errors.AsType[*plan.CheckError](r.last.Err); isCheck {
		s.Told = checked.Job
	}
	needsUsed, runs := s.Deployed != want.Hash, false
	for what, seen := range s.View.Objects {
		needsUsed = needsUsed || want.Has(what) == nil
		runs = runs || inventory.IsWorkload(what.Kind().Kind) && seen.State != inventory.Lost
	}
	if !needsUsed && runs { // mostly nothing is left over, and nobody needs to know about pods
		return s, nil
	}
	s.View.Used, s.View.Orphans, err = r.inventory.Used(r.ctx, r.collector, r.found)
	return s, err
}
