package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// deferred returns the plan while a change of the operator waits for its turn.
func (s *Situation) deferred() Plan {
	p := Plan{Verdict: Deferred, Restores: s.Drifts()}
	s.handsOver(&p)
	p.nameHeld(s.View.Objects)
	return p
}

// Remembered is what an operator remembers of a Collector that it need not render.
type Remembered struct {
	Now, Until time.Time // for how long it can be taken to be unchanged
	Objects    map[live.Reference]live.Seen
	ToPrune    map[live.Reference]bool
	IsDeferred bool // a change of the operator waits for its turn

	// ScaledBy is the autoscaler of another client that sets the number of pods of Scaled, or empty. It is looked for again at NextLook.
	ScaledBy string
	Scaled   live.Reference
	NextLook time.Time
}

// Unchanged returns the plan for objects of the deployed revision, and whether there is one without a decision: each object is in order,
// waits to be pruned, or waits for its next repair.
func Unchanged(known Remembered) (p Plan, isUnchanged bool) {
	view, toPrune, now := known.Objects, known.ToPrune, known.Now
	if p.Verdict = InSync; known.IsDeferred {
		p.Verdict = Deferred
	}
	if !now.Before(known.Until) || known.ScaledBy != "" && !now.Before(known.NextLook) || areStopped(view) {
		return p, false
	}
	var first live.Reference // of those that are contested, so that the message is always the same
	for what, seen := range view {
		switch {
		case seen.Pending: // a change that was taken back has left it
			return p, false
		case seen.State == live.InOrder, toPrune[what]:
		case seen.State == live.Contested:
			if first == (live.Reference{}) || what.Use() < first.Use() {
				first = what
			}
			p.Sooner(seen.Next.Sub(now))
		default:
			return p, false
		}
	}
	if seen, isContested := view[first]; isContested {
		p.Note(Contested, EditorOf(seen.Editor), first)
	}
	p.nameHeld(view)
	p.Sooner(known.Until.Sub(now))
	if known.ScaledBy != "" {
		p.Note(Scaled, known.ScaledBy, known.Scaled)
		p.Sooner(known.NextLook.Sub(now))
	}
	return p, true
}

// Contested says who changes an object again and again.
const Contested = "%s changes %s again and again, so the operator repairs it less and less often"

// Note notes what keeps objects from being as they should, unless something else does already.
func (p *Plan) Note(format string, args ...any) {
	if p.Message == "" {
		p.Message = fmt.Sprintf(format, args...)
	}
}

// contest names an object that another client changes again and again, and has it looked at when its next repair is due.
func (p *Plan) contest(what live.Reference, seen live.Seen, now time.Time) {
	p.Note(Contested, EditorOf(seen.Editor), what)
	p.Sooner(seen.Next.Sub(now))
}

// EditorOf returns who has changed an object, for messages.
func EditorOf(editor string) string { return cmp.Or(editor, "an unknown client") }

func heldBy(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return ", and held by finalizers " + strings.Join(finalizers, ", ")
}

// nameHeld names an object in deletion that only a finalizer keeps, although it still leads to pods, runs them or scales them.
func (p *Plan) nameHeld(view map[live.Reference]live.Seen) {
	var first live.Reference // so that the message is always the same
	for what, seen := range view {
		isHeld := seen.State == live.Deleting && len(seen.Finalizers) > 0 && render.StageOf(what.Kind().Kind) >= render.Network
		if isHeld && (first == (live.Reference{}) || what.Use() < first.Use()) {
			first = what
		}
	}
	if seen, isHeld := view[first]; isHeld {
		p.Note("%s is being deleted%s", first, heldBy(seen.Finalizers))
	}
}
