package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// prune returns what is deleted after some steps: what the Collector controls and is not wanted. It stays while pods use it, and
// all of it while a workload of another kind still serves in place of the wanted one. Of configurations as many stay as there are
// records of revisions. The orphans of revisions that were never accepted go before the steps.
func (s *Situation) prune(steps []apply.Step, p *Plan) (deletes, adopts []apply.Step) {
	unseen := s.unseen(p)
	if s.Restores {
		return s.orphansBeside(), sorted(unseen)
	}
	kept, mustWait := s.history(), s.handsOver(p)
	if len(unseen) > 0 {
		mustWait = true
		p.Sooner(live.CacheDelay)
	}
	for what, seen := range s.View.Objects {
		replaced := slices.ContainsFunc(steps, func(step apply.Step) bool { return step.Old != nil && step.Old.Ref == what })
		switch {
		case seen.State == live.Deleting && s.Want.Has(what) == nil: // a finalizer keeps it, and it is not needed
			p.pruneLater(what)
		case s.Want.Has(what) != nil, replaced, s.isOrphan(what, seen), seen.State == live.Lost, kept[what]:
		case mustWait && render.StageOf(what.Kind().Kind) != render.Checks, s.View.Used.Has(what), s.mayReturn(what):
			p.pruneLater(what)
		case s.mayUse(what):
			p.pruneLater(what)
			p.Sooner(live.CacheDelay) // no event may tell that it is not in use
		default:
			deletes = append(deletes, remove(what, seen, "no longer rendered, and not in use"))
		}
	}
	for _, step := range s.orphanedPods() {
		if mustWait {
			p.pruneLater(step.Ref)
		} else {
			deletes = append(deletes, step)
		}
	}
	p.nameHeld(s.View.Objects)
	return sorted(deletes), sorted(unseen)
}

// unseen adopts workloads that are lost and not wanted: they may run pods, and have only lost the label that the informer cache goes by.
func (s *Situation) unseen(p *Plan) (adopts []apply.Step) {
	for what, seen := range s.View.Objects {
		if seen.State == live.Lost && live.IsWorkload(what.Kind().Kind) && s.Want.Has(what) == nil && seen.UID != "" {
			p.pruneLater(what)
			adopts = append(adopts, apply.Step{Action: apply.Adopt, Ref: what, UID: seen.UID, Reason: "it may have lost only its label"})
		}
	}
	return adopts
}

// orphansBeside deletes objects that a change has created beside those of the deployed revision, and that was not accepted: they may scale
// these, or keep traffic from them. Objects that pods mount stay. A workload stays too, because its pods may serve.
func (s *Situation) orphansBeside() (deletes []apply.Step) {
	if s.Want.First(render.Workloads) == nil { // nothing is restored
		return nil
	}
	for what, seen := range s.View.Objects {
		stage := render.StageOf(what.Kind().Kind)
		isBeside := s.Want.Has(what) == nil && stage > render.Checks && stage != render.Workloads
		if isBeside && seen.Pending && seen.IsThere() {
			deletes = append(deletes, remove(what, seen, "a change that was not accepted has created it"))
		}
	}
	return sorted(deletes)
}

// MayPrune tells whether one of the objects that wait to be pruned has gone, or may go now.
func MayPrune(toPrune map[live.Reference]bool, found map[live.Reference]live.Object, used live.Used) bool {
	mayReturn := false
	for what, object := range found {
		mayReturn = mayReturn || bringsBack(what, object)
	}
	for what := range toPrune {
		object, isThere := found[what]
		isKept := object.Deleting || used.Has(what) || mayReturn && render.StageOf(what.Kind().Kind) == render.Mounts
		if !isThere || !isKept {
			return true
		}
	}
	return false
}

func (p *Plan) pruneLater(what live.Reference) {
	if p.ToPrune == nil {
		p.ToPrune = map[live.Reference]bool{}
	}
	p.ToPrune[what] = true
}

// mayUse tells whether a workload may use an object although the informer cache does not say so: it does not show the workload as
// it was last applied.
func (s *Situation) mayUse(mounted live.Reference) bool {
	for what, seen := range s.View.Objects {
		isUnsure := seen.State == live.Stale || seen.State == live.Changed || seen.State == live.Unknown ||
			seen.State == live.Lost
		if isUnsure && live.IsWorkload(what.Kind().Kind) && render.StageOf(mounted.Kind().Kind) == render.Mounts {
			return true
		}
	}
	return false
}

// mayReturn tells whether pods of an earlier revision may mount an object although none does now.
func (s *Situation) mayReturn(mounted live.Reference) bool {
	wanted := s.Want.First(render.Workloads)
	return wanted != nil && render.StageOf(mounted.Kind().Kind) == render.Mounts && bringsBack(wanted.Ref, s.View.Objects[wanted.Ref].Object)
}

// bringsBack tells whether a workload may bring back a pod of an earlier revision. As long as a Deployment does not serve, its earlier pods
// do, and one that was evicted comes back. Other workloads make a new one of it, except a StatefulSet with a partition.
func bringsBack(what live.Reference, workload live.Object) bool {
	return workload.Partition > 0 || what.Kind().Kind == "Deployment" && workload.Replicas > 0 && !workload.Serves
}

// handsOver tells whether a workload of another kind still serves in place of the wanted one: until that serves, or cannot because its
// pods have no place beside the others.
//
// It is here that old pods stay when the mode changes. Within a mode, Kubernetes rolls the workload, and a canary limits that (canary.go).
// Objects that old pods mount stay while these use them (prune), or may come back (mayReturn). A StatefulSet that has to be replaced
// leaves its pods to its successor (within). When pods have lost theirs, awaitSet has it come back before the mode changes.
func (s *Situation) handsOver(p *Plan) bool {
	wanted := s.Want.First(render.Workloads)
	if wanted == nil {
		return false
	}
	others, other := int32(0), live.Reference{}
	for _, step := range s.orphanedPods() {
		others, other = others+1, step.Ref
	}
	for what, seen := range s.View.Objects {
		if live.IsWorkload(what.Kind().Kind) && what != wanted.Ref && seen.IsThere() {
			if others += seen.Replicas; s.isUncounted(what) { // it may have pods
				others++
			}
			if other == (live.Reference{}) || what.Use() < other.Use() { // the message is always the same
				other = what
			}
		}
	}
	successor := s.View.Objects[wanted.Ref]
	serves := successor.State == live.InOrder && successor.Hash == wanted.Hash && !s.scalesUp(wanted) &&
		(successor.Serves || wanted.SetsReplicas && successor.Replicas == 0)
	if others == 0 || serves || wanted.Excludes && successor.State != live.Deleting {
		return false
	}
	p.Note("%s serves until %s does", other, wanted.Ref)
	return true
}

// history returns the Secrets of configurations that stay although they are not wanted: a pod of the revision before this one may
// be about to start, and who goes back finds the Secret. There are none without a wanted one.
func (s *Situation) history() map[live.Reference]bool {
	var all []secret
	for what, seen := range s.View.Objects {
		if what.Kind().Kind == "Secret" && seen.State != live.Lost && !s.isOrphan(what, seen) && s.Want.Has(what) == nil {
			all = append(all, secret{what, seen.Object})
		}
	}
	room := s.History
	for i := range s.Want.Objects {
		if s.Want.Objects[i].Ref.Kind().Kind == "Secret" {
			room--
		}
	}
	if room == s.History {
		return nil
	}
	slices.SortFunc(all, secret.compare)
	kept := map[live.Reference]bool{}
	for _, found := range all[:min(len(all), max(0, room))] {
		kept[found.what] = true
	}
	return kept
}

// isOrphan tells whether an object was created for a change that was never accepted, and that no pod uses.
func (s *Situation) isOrphan(what live.Reference, seen live.Seen) bool {
	return seen.Pending && !s.View.Used.Has(what) && !s.mayUse(what) && render.StageOf(what.Kind().Kind) == render.Mounts
}

// orphans deletes what changes that were never accepted have left.
func (s *Situation) orphans() []apply.Step {
	if s.Restores { // who knows what the other revision needs
		return nil
	}
	var deletes []apply.Step
	for what, seen := range s.View.Objects {
		if seen.IsThere() && s.isOrphan(what, seen) && s.Want.Has(what) == nil {
			deletes = append(deletes, remove(what, seen, "a change that was not accepted has left it"))
		}
	}
	return sorted(deletes)
}

// secret is the Secret of a configuration.
type secret struct {
	what live.Reference
	live.Object
}

// compare sorts Secrets, the newest first. A Secret that the informer cache does not show yet is the newest. Within a second the
// resource version tells, which grows also when the metadata is written.
func (s secret) compare(with secret) int {
	switch {
	case s.Created.IsZero() && !with.Created.IsZero(), live.IsOlder(with.Version, s.Version) && s.Created.Equal(with.Created):
		return -1
	case with.Created.IsZero() && !s.Created.IsZero(), live.IsOlder(s.Version, with.Version) && s.Created.Equal(with.Created):
		return 1
	}
	return cmp.Or(with.Created.Compare(s.Created), strings.Compare(s.what.Name(), with.what.Name()))
}

// uninstall deletes all that the Collector controls: workloads first, because a refusal must leave what their pods need. Pods without their
// StatefulSet would stay, so that takes them back first. If it is late, it has to be created at least. Nothing goes before it is late if
// a workload would stay without what its pods use.
func (s *Situation) uninstall() Plan {
	p := Plan{Verdict: Uninstalling}
	if len(s.Disowned) > 0 {
		p.Message = fmt.Sprintf("the Collector no longer controls %s, whose pods use what goes with the Collector; "+
			"give it its owner reference back, or delete it", s.Disowned[0])
		if !s.Late {
			p.Err, p.Message = errors.New(p.Message), ""
			return p
		}
	}
	var workloads, others []apply.Step
	hasSet := false
	for what, seen := range s.View.Objects {
		hasSet = hasSet || what.Kind().Kind == "StatefulSet" && seen.State != live.Lost
		of := &others
		if live.IsWorkload(what.Kind().Kind) {
			of = &workloads
		}
		if seen.IsThere() {
			step := remove(what, seen, "the Collector is being deleted")
			step.Retains = s.Retains && what.Kind().Kind == "StatefulSet"
			*of = append(*of, step)
		}
	}
	isOrphaned := s.mayDeploy("StatefulSet") && s.isOrphaned()
	switch {
	case isOrphaned && s.Unmended == nil && (!s.Late || !hasSet):
		p.Restores, p.Err = true, errors.New("the deployed StatefulSet takes its pods back before it goes")
		return p
	case isOrphaned && !s.Late:
		p.Err = fmt.Errorf("pods run without their StatefulSet, and would stay: %w", s.Unmended)
		return p
	}
	p.add(sorted(append(workloads, s.orphanedPods()...))) // no StatefulSet takes these back
	p.add(sorted(others))
	return p
}
