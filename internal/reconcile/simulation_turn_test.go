package reconcile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/test/simulation"
)

// rollsOut checks that no other Collector is on its way when the Collector takes a change of the operator: the budget is 1. Collectors
// that are told to take it now, that are held, that are paused, or that are being deleted do not count.
func (s *simSpace) rollsOut() {
	if s.isNow {
		return
	}
	for _, other := range s.world.spaces {
		isCounted := other.exists && !other.deleting && other.paused == "" && other.rollout == ""
		if other != s && isCounted && rollout.IsTurn(other.state.update()) {
			s.world.violates("S9", "%s takes the operator's change while %s is on its way", s.namespace(), other.namespace())
		}
	}
}

// accepts checks a revision that is recorded.
func (s *simSpace) accepts(added simRecord) {
	if why := s.refusal(); why != "" && s.fresh && added.want.Hash == s.want.Hash {
		s.world.violates("S1", "the change is accepted although %s refuses it", why)
	}
	s.mustBeAcceptedProven(added.want)
	before, isKnown := s.known[s.acceptedAs]
	if !isKnown || len(s.refusals) > 0 || !s.fresh || !s.isHeld || !s.isRecorded() {
		return
	}
	isOther := before.of.hashes != added.of.hashes
	if !isOther && s.rollout != v1alpha1.RolloutHold || isOther && (s.unfinished || s.isHarmed(before.want, added.want)) {
		return // what is recorded cannot be verified, so nothing else repairs the Collector
	}
	isChanged := before.of.chart != added.of.chart || before.of.base != added.of.base || before.of.hashes != added.of.hashes
	isByOperator := isChanged && before.of.secret == added.of.secret
	if isByOperator && before.spec == added.spec && before.of.uid == added.of.uid {
		s.world.violates("S9", "the operator's change is accepted although its turn has not come")
	}
}

// isHarmed tells whether a client has touched an object, or has deleted a wanted one, as far as the operator has seen, or whether
// an earlier try has changed one.
func (s *simSpace) isHarmed(before, after plan.Want) bool {
	for what, seen := range s.view {
		wanted, begun := after.Has(what), s.started[what]
		isBegun := wanted != nil && begun != nil && begun.get(simApplied) == wanted.Hash
		if isBegun || seen.State == live.Changed || seen.State == live.Lost {
			return true
		}
	}
	return len(s.touched) > 0 || slices.ContainsFunc(before.Objects, func(object render.Object) bool {
		found := s.started[object.Ref]
		return found == nil || found.deleting
	})
}

// tellsChange checks that no status tells of a change by the operator before there is one.
func (w *simWorld) tellsChange(after simState) {
	w.brings = w.brings || w.chart != 1 || w.hashes > 0
	if after.update() != "" && !w.brings {
		w.violates("S9", "the status tells of a change by the operator, which has changed nothing: %s %s", after.update(), after.is(v1alpha1.UpdatePending).Message)
	}
}

// tellsRefusal checks that Ready tells of no refusal of the operator's change, as long as the deployed revision can be repaired.
func (s *simSpace) tellsRefusal(after simState) {
	known, isKnown := s.known[s.acceptedAs]
	isOwners := !isKnown || known.spec != s.generation || known.of.secret != s.secret || known.of.secret != s.cachedSecret || s.spec.Effective().Configuration == simulation.Broken
	isOccupied := slices.ContainsFunc(known.want.Objects, func(brought render.Object) bool {
		current := s.objects[brought.Ref]
		return current != nil && current.owner != s.uid
	})
	mayBeUnmendable := isOccupied || len(s.refusals) > 0 || known.of.hashes != s.world.hashes || !s.isRecorded()
	mayBeUnmendable = mayBeUnmendable || strings.Contains(after.is("Ready").Message, "; repair revision ") // which waits for its backoff
	isTold := after.is("Ready").Reason == v1alpha1.ReasonReleaseFailed && strings.HasPrefix(after.is("Ready").Message, simRefusalText)
	if isTold && !isOwners && !mayBeUnmendable && int64(known.revision) == s.state.revision() {
		s.world.violates("S9", "Ready tells of the operator's change, which is refused, and the owner has changed nothing")
	}
}

// renews deletes a pod for the operator.
func (s *simSpace) renews(uid types.UID) {
	at := slices.IndexFunc(s.pods, func(pod *simPod) bool { return types.UID(pod.name) == uid })
	if at < 0 {
		return
	}
	pod := s.pods[at]
	set := s.objects[simRef("StatefulSet", simName)]
	wanted := s.want.First(render.Workloads)
	if isOrphan := pod.owner == "" && !s.deleting; isOrphan && pod.ready && !wanted.Excludes && !s.view[wanted.Ref].Serves {
		s.world.violates("S1", "the orphaned %s is deleted, and %s does not serve yet", pod, wanted.Ref)
	}
	if serves := set != nil && pod.ready && !set.lacks(pod); serves && pod.owner == set.uid && s.decidedBy != nil {
		s.world.violates("S3", "%s is deleted, and lacks nothing", pod)
	}
	isUnready := func(other *simPod) bool {
		return other.ordinal >= 0 && !other.ready && slices.Contains(s.decidedBy, other) && (set == nil || !set.lacks(other))
	}
	if pod.ready && pod.owner != "" && !s.deleting && simCount(s.pods, isUnready) > 0 {
		s.world.violates("S3", "%s is deleted although others are not ready", pod)
	}
	s.pods, s.world.idle = slices.Delete(s.pods, at, at+1), false
}
