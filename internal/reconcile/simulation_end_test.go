package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/status"
	"github.com/kube8/kube8-operator/test/simulation"
)

// observe checks what the status says, when the informer cache has everything.
func (s *simSpace) observe(outcome status.Outcome) {
	if !s.state.ready() {
		return
	}
	if !s.fresh || s.lagsAnywhere() {
		return // it is about what the informer cache shows
	}
	if s.want.Hash == "" || outcome.Update != nil {
		return
	}
	if why := s.refusal(); why != "" {
		s.world.violates("S7", "Ready is True although %s refuses the change", why)
	}
	if why := s.differs(s.want); why != "" {
		s.world.violates("S7", "Ready is True, and %s", why)
	}
}

// differs says how the objects differ from what is wanted.
func (s *simSpace) differs(want plan.Want) string {
	marked, _ := s.markedAs(want)
	for i := range marked.Objects {
		wanted := &marked.Objects[i]
		live := s.objects[wanted.Ref]
		switch {
		case live == nil:
			return wanted.Ref.String() + " is not there"
		case live.owner != s.uid:
			return wanted.Ref.String() + " is not the Collector's"
		case live.deleting:
			return wanted.Ref.String() + " is being deleted"
		}
		for _, field := range s.world.charts.flatten(wanted.Content) {
			found := live.find(field.name)
			if isGrown := found != nil && (field.name == simClaims || field.name == simSize) && found.value > field.value; isGrown {
				continue // claims cannot shrink, and a change has grown them before it was refused
			}
			if (found == nil || found.value != field.value) && !simMayDiffer(wanted, field.name) {
				return wanted.Ref.String() + " has " + field.name + " " + live.get(field.name) + ", want " + field.value
			}
		}
		for _, field := range live.fields {
			if field.name == simClaims || field.name == simClass { // they are immutable in a StatefulSet that a refused change had to create
				continue
			}
			if field.owners&simOperator != 0 && field.name != simReplicas && !strings.HasPrefix(field.name, "annotations.") && !s.hasField(wanted, field.name) {
				return wanted.Ref.String() + " still has " + field.name
			}
		}
	}
	return ""
}

// simMayDiffer tells whether a Secret or a claim may have a mark or a label of an earlier revision: they are not applied again
// while a record stands for the revision, because it has no data of Secrets.
func simMayDiffer(wanted *render.Object, field string) bool {
	return wanted.Ref.Kind().Kind == "Secret" && (strings.HasPrefix(field, "annotations.") || strings.HasPrefix(field, "labels."))
}

func (s *simSpace) hasField(wanted *render.Object, name string) bool {
	for _, field := range s.world.charts.flatten(wanted.Content) {
		if field.name == name {
			return true
		}
	}
	return false
}

// surplus says what is there and not wanted.
func (s *simSpace) surplus(want plan.Want) string {
	if s.isNeverReady() {
		return "" // what serves until others do stays
	}
	secrets := 0
	for _, object := range s.sorted() {
		if object.owner != s.uid {
			continue
		}
		if object.kind() == "Secret" {
			secrets++
			continue
		}
		if object.kind() == "Job" {
			continue
		}
		if want.Has(object.ref) == nil && !s.used(object.ref) {
			return object.ref.String() + " is there, and nobody wants it"
		}
	}
	if secrets > simHistory+1 { // the wanted one may be older than those that are kept
		return "there are too many Secrets"
	}
	for _, pod := range s.pods {
		if set := s.objects[simRef("StatefulSet", simName)]; set != nil && set.lacks(pod) && pod.owner == set.uid {
			return "a pod lacks a claim: " + pod.String()
		}
		if pod.owner == "" {
			return "an orphaned pod runs: " + pod.String()
		}
	}
	return ""
}

// calm ends the faults. Refusals can stay.
func (w *simWorld) calm(keepsRefusals bool) {
	w.faults, w.later = [2]simFault{}, nil
	for _, s := range w.spaces {
		if !keepsRefusals {
			s.refusals = nil
		}
		clear(s.stopped)
		if s.paused != "" || s.rollout != "" {
			s.paused, s.rollout, s.dirty = "", "", s.exists
		}
		s.releaseAll("")
		for _, object := range s.sorted() {
			if object.owner == "" && !strings.HasPrefix(object.ref.Name(), "data-") {
				s.remove(object)
			}
		}
	}
	w.pass(40 * time.Minute)
}

// finish checks that everything becomes as it should, once the faults have ended.
func (w *simWorld) finish() {
	if w.holds(); w.violation != "" {
		return
	}
	w.trace("the faults end")
	w.calm(true)
	for _, s := range w.spaces {
		s.converges("while a refusal stands")
	}
	if w.violation != "" {
		return
	}
	if w.refuses(); w.violation != "" {
		return
	}
	w.trace("the refusals end")
	w.calm(false)
	for _, s := range w.spaces {
		s.converges("in the end")
	}
	before := w.requests - w.reads // a user's Secret is read once a period
	w.pass(time.Hour)
	for _, s := range w.spaces {
		if s.state.failed() || s.state.is("Ready").Reason == v1alpha1.ReasonChecking {
			return // what is refused is tried again, and what has no verdict is checked again
		}
	}
	if asked := w.requests - w.reads - before; asked != 0 {
		w.violates("S8", "%d requests while nothing changes", asked)
	}
}

// converges checks one Collector.
func (s *simSpace) converges(when string) {
	w := s.world
	if w.violation != "" {
		return
	}
	if !s.exists {
		for _, object := range s.sorted() {
			if !strings.HasPrefix(object.ref.Name(), "data-") {
				w.violates("S5", "%s outlives the Collector", object.ref)
			}
		}
		if len(s.pods) > 0 {
			w.violates("S5", "pods outlive the Collector")
		}
		return
	}
	in := simInputs{s.spec.Effective(), s.secret, w.chart, w.base, w.hashes, string(s.uid)}
	want := plan.Want{Hash: simBroken}
	if !in.isBroken() {
		want = w.charts.render(in)
	}
	s.want = want
	why := cmp.Or(s.refusal(), s.rolledBack(want))
	s.showsDeployed(when)
	_, job := s.markedAs(want)
	switch {
	case s.state.update() != "" && (s.state.update() != "RollingOut" || s.state.ready()) && when == "in the end" && !w.isHeld():
		w.violates("S9", "the change waits: %s", s.state.update())
	case s.state.update() != "" && s.state.update() != "RollingOut":
		s.restored(why, when) // its turn has not come: another Collector's change is refused
	case why == "" && want.Hash != s.accepted.Hash && s.state.failed() && s.blocks(want):
		s.restored("what no dry run tells", when)
	case why == "" || want.Hash == s.accepted.Hash:
		isOrphan := func(pod *simPod) bool { return pod.owner == "" }
		isPassing := func(refusal simRefusal) bool { return refusal.how == simulation.BrokenWebhook }
		waits := slices.ContainsFunc(s.pods, isOrphan) && slices.ContainsFunc(s.refusals, isPassing) // for the accepted StatefulSet
		if waits || len(s.refusals) > 0 && s.blocks(want) {
			return
		}
		if differs := s.differs(want); differs != "" {
			w.violates("S6", "%s, %s (%s)", when, differs, s.state)
		} else if len(s.refusals) == 0 && s.surplus(want) != "" {
			w.pass(simPeriod) // a watch that has stopped can miss a pod, which the next periodic reconcile sees
			if surplus := s.surplus(want); surplus != "" {
				w.violates("S6", "%s, %s", when, surplus)
			}
		}
		s.mustBeReady(when)
	case s.accepted.Hash == "", job != "" && !s.completed[job] && s.verdictOf() == "accepted":
		// nothing was ever accepted, or the Job has not run yet
	default:
		s.restored(why, when)
	}
	if want.Hash == simBroken && s.state.is("Ready").Reason == v1alpha1.ReasonRolledBack {
		w.violates("S7", "%s, Ready is %s, and nothing was rendered that could be rolled back", when, v1alpha1.ReasonRolledBack)
	}
}

// restored checks that the last accepted revision is there.
func (s *simSpace) restored(why, when string) {
	w, accepted := s.world, s.acceptedOf
	if accepted.uid == "" || accepted.uid != string(s.uid) || accepted.hashes != w.hashes {
		return // what an operator that hashes otherwise has recorded cannot be verified
	}
	want := w.charts.render(accepted)
	if deployed := (history.Deployed{Digest: s.state.deployed().Digest}); s.blocks(want) || deployed.Hash() != s.accepted.Hash {
		return
	}
	differs := s.differs(want)
	if differs != "" && !s.lacksRecord() {
		w.violates("S6", "%s, although %s refuses the change, the last accepted revision is not there: %s (%s)", when, why, differs, s.state)
	}
	if s.state.ready() && why != "" && s.state.update() == "" {
		w.violates("S7", "%s, Ready although %s refuses the change", when, why)
	}
}

func (s *simSpace) verdictOf() string {
	if found := s.verdicts[s.current.configuration()]; found != "" {
		return found
	}
	return "accepted"
}

// blocks tells whether a refusal keeps objects from being as they are wanted.
func (s *simSpace) blocks(want plan.Want) bool {
	for _, refusal := range s.refusals {
		isOfKind := func(wanted render.Object) bool { return wanted.Ref.Kind().Kind == refusal.kind }
		isLive := func(object *simObject) bool { return object.kind() == refusal.kind }
		if slices.ContainsFunc(want.Objects, isOfKind) || slices.ContainsFunc(s.sorted(), isLive) {
			return true
		}
	}
	return false
}

// isHeld tells whether a Collector that cannot become ready takes the budget of a wave.
func (w *simWorld) isHeld() bool {
	return slices.ContainsFunc(w.spaces, func(s *simSpace) bool { return s.isNeverReady() || s.state.failed() })
}

// isNeverReady tells whether pods with the Collector's configuration cannot become ready.
func (s *simSpace) isNeverReady() bool {
	return s.neverReady[s.current.configuration()] || s.dies[s.current.configuration()]
}

// mustBeReady checks that Ready says so, unless pods cannot become ready.
func (s *simSpace) mustBeReady(when string) {
	if s.isNeverReady() || s.state.ready() || len(s.refusals) > 0 {
		return
	}
	s.world.violates("S7", "%s, not Ready: %s %s %s", when, s.state.verdict, s.state.is("Ready").Reason, s.state.is("Ready").Message)
}
