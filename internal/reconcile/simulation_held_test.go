package reconcile

import (
	"slices"
	"strings"
	"time"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// holds has finalizers stay for a while: what waits for them must neither ask again and again nor be silent.
func (w *simWorld) holds() {
	isHeld := func(o *simObject) bool { return o.deleting && len(o.finalizers) > 0 }
	if !slices.ContainsFunc(w.spaces, func(s *simSpace) bool { return slices.ContainsFunc(s.sorted(), isHeld) }) {
		return
	}
	w.trace("finalizers stay")
	w.faults, w.later = [2]simFault{}, nil
	for _, s := range w.spaces {
		clear(s.stopped)
	}
	w.pass(2 * time.Minute)
	asked, reconciled := w.requests, w.reconciles
	limit := 0
	for _, s := range w.spaces {
		if limit += 20 * 15; s.state.failed() { // a name may be occupied, and a refusal stands
			limit += 20 * 15
		}
	}
	w.pass(20 * time.Minute)
	if asked = w.requests - asked; asked > limit {
		w.violates("S8", "%d requests in 20 minutes in which nothing changes", asked)
	}
	if reconciled = w.reconciles - reconciled; reconciled > 20*15*len(w.spaces) {
		w.violates("S8", "%d reconciles in 20 minutes in which nothing changes", reconciled)
	}
	for _, s := range w.spaces {
		s.namesObstacle()
	}
}

// refuses has refusals stand for a while: each try may tell of another one. A check, a canary, a wave, or another way to hash tells of itself too.
func (w *simWorld) refuses() {
	told, asked, limit := w.told, w.requests, 0
	for _, s := range w.spaces {
		if limit += 12; s.spec.Check != 0 {
			limit += 24
		}
		if s.spec.Canary || s.waved || w.hashes > 0 {
			limit += 48 // a webhook without dry runs refuses the change after each proof: eight times, with six statuses each
		}
	}
	w.pass(20 * time.Minute)
	if told = w.told - told; told > limit {
		w.violates("S8", "the status is written %d times in 20 minutes in which nothing changes", told)
	}
	if asked = w.requests - asked; asked > 20*30*len(w.spaces) {
		w.violates("S8", "%d requests in 20 minutes in which a refusal stands", asked)
	}
}

// namesObstacle checks that Ready names what is wanted and cannot be there, and what is not wanted, cannot go and still serves.
func (s *simSpace) namesObstacle() {
	if !s.exists || s.deleting || s.state.failed() || s.paused != "" || s.state.is("Ready").Reason == v1alpha1.ReasonChecking || s.state.update() != "" {
		return
	}
	var held []string
	for i := range s.want.Objects {
		what := s.want.Objects[i].Ref
		if current := s.objects[what]; current != nil && current.deleting && s.want.Objects[i].Stage != render.Checks {
			held = append(held, what.String())
		}
	}
	for _, current := range s.sorted() {
		isHeld := current.deleting && len(current.finalizers) > 0 && current.owner == s.uid
		if isHeld && s.want.Has(current.ref) == nil && render.StageOf(current.ref.Kind().Kind) >= render.Network {
			held = append(held, current.ref.String())
		}
	}
	isNamed := func(name string) bool { // one message is named
		return strings.Contains(s.state.is("Ready").Message, name) || strings.Contains(s.state.is("Ready").Message, " serves until ")
	}
	if s.state.ready() && len(held) > 0 || len(held) > 0 && !slices.ContainsFunc(held, isNamed) {
		s.world.violates("S7", "Ready does not name %s: %t %s", held[0], s.state.ready(), s.state.is("Ready").Message)
	}
}

// isSized tells whether the last accepted revision has a claim of the same size, and the operator can know that: then it keeps the size that
// another client, or a refused change, has given it.
func (s *simSpace) isSized(claim *render.Object) bool {
	before := s.accepted.Has(claim.Ref)
	return before != nil && simSizeOf(before) == simSizeOf(claim) && s.isRecorded()
}

// hasOtherClaims tells whether a StatefulSet is not that of the accepted revision, and has other claim templates.
func (s *simSpace) hasOtherClaims(o *simObject) bool {
	marked, _ := s.markedAs(s.accepted)
	accepted := marked.First(render.Workloads)
	if accepted == nil || accepted.Ref != o.ref || accepted.Hash == o.get(simApplied) {
		return false
	}
	before := s.unapplied(accepted)
	return before.get(simClaims) != o.get(simClaims) || before.get(simClass) != o.get(simClass)
}

// isRecorded tells whether the deployed revision has its record.
func (s *simSpace) isRecorded() bool {
	return slices.ContainsFunc(s.records, func(known simRecord) bool { return int64(known.revision) == s.state.revision() })
}

// lacksRecord tells whether the record of the deployed revision has been deleted. The operator does not know then how to repair what is there, and
// Ready says so of what the operator knows to be lost.
func (s *simSpace) lacksRecord() bool {
	if s.isRecorded() {
		return false
	}
	isTold := !s.state.ready() && strings.Contains(s.state.is("Ready").Message, "read the record of revision")
	for what, seen := range s.view {
		if seen.State == live.Lost && !seen.Pending && render.StageOf(what.Kind().Kind) > render.Checks && !isTold {
			s.world.violates("S7", "%s is lost, and Ready does not say that revision %d is not recorded: %t %s", what, s.state.revision(),
				s.state.ready(), s.state.is("Ready").Message)
		}
	}
	return true
}
