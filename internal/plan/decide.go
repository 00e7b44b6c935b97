package plan

import (
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/claims"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// Decide decides what to do. It looks at the situation only, and changes nothing.
//
// docs/explanation/architecture.md has the rules that it keeps, S1 to S11. In short: what serves is changed only after the API server has
// accepted all that comes with the change, and goes only when what comes in its place serves.
//
// An object is written once for each step, whose reason says why (step). Seen in the audit log, one is written twice for these reasons:
//   - Its dry run is a patch, too (tries).
//   - One step took several requests: internal/apply repeats a conflict (Applier.apply), hands a number of pods over to an autoscaler
//     (Applier.handOver), and takes fields from other managers before an apply can drop them (Request.CoOwned, cluster.Rewrite).
//   - A change was refused half way after it, and the deployed revision was mended (mend).
//   - Each reconcile has a plan of its own: another client has changed the object, or the operator has restarted and does not know.
func Decide(s Situation) Plan {
	p := s.next()
	if p.Restores {
		s.mend(&p)
	}
	s.renew(&p)
	if s.isLate() {
		p.Sooner(live.CacheDelay)
	}
	return p
}

// isLate tells whether the informer cache does not show yet what was applied. No event need come when that has gone meanwhile.
func (s *Situation) isLate() bool {
	for _, seen := range s.View.Objects {
		if seen.State == live.Stale {
			return true
		}
	}
	return false
}

// next decides where the Collector goes from here.
func (s Situation) next() Plan {
	if s.Deletes {
		return s.uninstall()
	}
	changes, rejected := s.changes(), s.rejection()
	switch {
	case changes && s.Failed != nil:
		return Plan{Verdict: Refused, Err: s.Failed, Restores: s.Drifts()}
	case changes && rejected != nil:
		return s.rollBack(*rejected, rejected.RolledBack)
	case changes && s.ByOperator && !s.Turn:
		return s.deferred()
	case s.Refusal != nil:
		return Plan{Verdict: Refused, Err: s.Refusal, Restores: s.Drifts()}
	}
	job := s.Want.First(render.Checks)
	if job != nil && changes && !s.accepts(job.Ref) {
		return s.check(*job)
	}
	want, err := s.Want.Accepted(job)
	if err != nil {
		return Plan{Verdict: Refused, Err: err}
	}
	s.Want = want
	if changes && s.loses() {
		return s.awaitSet()
	}
	proof, isProven := Plan{}, true
	if changes {
		proof, isProven = s.prove()
	}
	if !isProven {
		return proof
	}
	p := s.towards(changes)
	p.Proven, p.Unproven = proof.Proven, proof.Unproven
	return p
}

// towards goes to what is wanted.
func (s *Situation) towards(changes bool) Plan {
	p := Plan{}
	if err := s.leaveReplicas(&p); err != nil {
		return Plan{Verdict: Refused, Err: err}
	}
	var steps []apply.Step
	for i := range s.Want.Objects {
		step, refusal := s.step(&s.Want.Objects[i], &p)
		if refusal != nil {
			return Plan{Verdict: Refused, Err: refusal, Restores: s.Drifts()}
		}
		if step != nil {
			steps = append(steps, *step)
		}
	}
	p.Verdict = s.verdict(changes, len(steps))
	deletes, adopts := s.prune(steps, &p)
	p.add(adopts)
	var untried live.Reference
	p.Orphans = s.orphans() // also of a change that was taken back
	if changes {
		p.Tries, untried = s.tries(steps)
	}
	s.order(steps, untried, &p)
	p.Deletes = deletes
	return p
}

// order adds steps to the plan, stage by stage. A refusal comes before anything that serves is changed, where that is possible: what is new
// comes first, and then what was refused last.
func (s *Situation) order(steps []apply.Step, untried live.Reference, p *Plan) {
	left := slices.Clone(steps)
	take := func(which func(apply.Step) bool) {
		var group []apply.Step
		left = slices.DeleteFunc(left, func(step apply.Step) bool {
			isTaken := which(step)
			if isTaken {
				group = append(group, step)
			}
			return isTaken
		})
		p.add(group)
	}
	for stage := render.Mounts; stage <= growing; stage++ {
		isOfStage := func(step apply.Step) bool { return s.stageOf(step) == stage }
		if stage == render.Mounts {
			take(func(step apply.Step) bool { // nothing uses it yet
				return isOfStage(step) && !step.InUse
			})
		}
		take(func(step apply.Step) bool { return isOfStage(step) && step.Ref == untried })
		take(isOfStage)
		if stage == render.Mounts {
			take(func(step apply.Step) bool { return step.Ref == s.Refused })
		}
	}
}

func (s *Situation) verdict(changes bool, steps int) Verdict {
	switch {
	case changes && len(s.View.Objects) == 0:
		return Install
	case changes:
		return Upgrade
	case steps > 0:
		return Drifted
	}
	return InSync
}

// step returns what has to be done about one wanted object, or nil. It adds to the plan what keeps that from being done.
func (s *Situation) step(wanted *render.Object, p *Plan) (*apply.Step, error) {
	seen := s.View.Objects[wanted.Ref]
	step := &apply.Step{Action: apply.Change, Ref: wanted.Ref, Object: wanted, UID: seen.UID, CoOwned: seen.CoOwned}
	step.Replicas, step.Predecessor = s.replicas(wanted)
	step.ScalesUp, step.InUse = s.scalesUp(wanted), s.View.Used.Has(wanted.Ref) || s.mayUse(wanted.Ref)
	step.TakesOver = wanted.Ref.Kind().Kind == "StatefulSet" && s.View.Orphans > 0
	step.HandsOver = !step.ScalesUp && seen.OwnsReplicas && wanted.Stage == render.Workloads && !wanted.SetsReplicas
	isSame := seen.Hash == wanted.Hash && !step.ScalesUp
	step.Leaves = wanted.Ref == s.Scaled && !isSame
	switch seen.State {
	case live.Absent, live.Lost:
		if found, isThere := s.Immutable[wanted.Ref]; isThere && seen.UID != "" { // it has lost its label only
			return s.within(step, found)
		}
		step.Action, step.UID, step.InUse, step.Leaves, step.Reason = apply.Create, "", false, false, "it is not there"
		if seen.State == live.Lost {
			step.Reason = "somebody has deleted it"
		}
		return s.exchange(step), nil
	case live.Deleting:
		p.Note("%s is being deleted%s; the operator creates it again when it has gone", wanted.Ref, heldBy(seen.Finalizers))
		return nil, nil
	case live.Contested:
		p.Note(Contested, EditorOf(seen.Editor), wanted.Ref)
		if isSame {
			p.Sooner(seen.Next.Sub(s.Now))
			return nil, nil
		}
		step.Reason = "it differs from the revision"
	case live.InOrder, live.Stale:
		if isSame && (!step.HandsOver || seen.State == live.Stale) {
			return nil, nil
		}
		if step.Reason = "it differs from the revision"; s.isStopped(wanted) {
			step.Reason = "it has no pods, and a HorizontalPodAutoscaler does nothing about that"
		}
	case live.Changed:
		if seen.Held {
			p.Note(Contested, EditorOf(seen.Editor), wanted.Ref)
		}
		step.Reason = EditorOf(seen.Editor) + " has changed it"
	case live.Unknown:
		step.Reason = "it is not known what has happened to it"
	}
	if found, isImmutable := s.Immutable[wanted.Ref]; isImmutable {
		return s.within(step, found)
	}
	return step, nil
}

// within returns how a step is done to an object with immutable fields.
func (s *Situation) within(step *apply.Step, found apply.Immutable) (*apply.Step, error) {
	wanted, uid := step.Object, step.UID
	old := &apply.Old{Ref: step.Ref, UID: uid}
	switch step.Ref.Kind().Kind {
	case "PersistentVolumeClaim":
		kept, isAsked := claims.Unshrunk(wanted, uid, found)
		if kept == nil || s.changes() && isAsked { // nothing takes its place, which has the data
			return nil, found.Err
		}
		step.Object = kept
		return step, nil
	case "StatefulSet":
		found.Proves = wanted.Content.GetAnnotations()[v1alpha1.CanaryAnnotation] != ""
		switch {
		case s.View.Objects[step.Ref].Hash == wanted.Hash, found.Has(wanted.Hash):
			found.Applied = found.Wanted
		case !s.changes():
			found.Applied, found.TakesBack = nil, true
		case !found.IsCanaryOf(s.shortHash()):
			found.Superseded = !found.IsOfDeployed()
		}
		var err error
		if step.Object, old, err = claims.Followed(wanted, uid, found, s.View.Pods); err != nil {
			return nil, err
		}
		if old == nil {
			return step, nil
		}
	}
	step.Action, step.Old, step.Reason = apply.Replace, old, "nobody can change it"
	return step, nil
}

// tries returns dry runs of all steps but the first that change what serves, and of what is created when it has gone: a refusal of one
// of them must leave the others undone. There are none if nothing serves yet, unless an object of another owner was met before. The
// first one is its own dry run: it is done before others of its stage.
func (s *Situation) tries(steps []apply.Step) (tries []apply.Step, untried live.Reference) {
	serves := s.Conflicted || s.Deployed != "" // the informer cache may not show it
	for what := range s.View.Objects {
		serves = serves || live.IsWorkload(what.Kind().Kind)
	}
	if !serves {
		return nil, untried
	}
	byStage := func(a, b apply.Step) int { return int(s.stageOf(a)) - int(s.stageOf(b)) }
	for _, step := range slices.SortedStableFunc(slices.Values(steps), byStage) {
		if s.stageOf(step) == render.Mounts && !step.InUse && !s.Conflicted {
			continue // nothing uses it yet
		}
		step.Action = apply.Try
		tries = append(tries, step)
	}
	if len(tries) > 0 && !s.Conflicted {
		isFirst := func(step apply.Step) bool { // what pods mount is changed before anything else
			return step.Ref == s.Refused && (s.stageOf(step) == render.Mounts || s.stageOf(tries[0]) != render.Mounts)
		}
		i := max(0, slices.IndexFunc(tries, isFirst))
		if untried = tries[i].Ref; untried != s.Refused { // or it would be refused after the change is recorded
			tries = slices.Delete(tries, i, i+1)
		}
	}
	for i := range s.Want.Objects {
		wanted := &s.Want.Objects[i]
		if seen := s.View.Objects[wanted.Ref]; seen.State == live.Deleting {
			old := &apply.Old{Ref: wanted.Ref, UID: seen.UID}
			tries = append(tries, apply.Step{Action: apply.Try, Ref: wanted.Ref, Object: wanted, Old: old, Reason: "it is created when it has gone"})
		}
	}
	return tries, untried
}

func remove(what live.Reference, seen live.Seen, reason string) apply.Step {
	return apply.Step{Action: apply.Delete, Ref: what, UID: seen.UID, Reason: reason}
}

// sorted sorts steps, so that equal situations have equal plans.
func sorted(steps []apply.Step) []apply.Step {
	slices.SortFunc(steps, func(a, b apply.Step) int { return strings.Compare(a.Ref.Use(), b.Ref.Use()) })
	return steps
}
