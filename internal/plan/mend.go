package plan

import (
	"cmp"
	"slices"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// mend adds to a plan how the deployed revision is mended, beside what the plan does.
func (s Situation) mend(p *Plan) {
	switch accepted := s.Accepted; {
	case s.Unmended != nil:
		p.Unmended = s.Unmended
	case accepted == nil:
		p.Recalls = true
	case accepted.Err != nil:
		p.Unmended = accepted.Err
	default:
		want, err := accepted.Want.Accepted(accepted.Want.First(render.Checks))
		s.Want, s.Immutable, s.Restores = want.without(p.holds), accepted.Immutable, true
		mended := s.towards(false)
		p.Mends, p.MendDeletes, p.Unmended = mended.Groups, mended.Deletes, cmp.Or(err, mended.Err)
		p.Message = cmp.Or(p.Message, mended.Message)
		p.noLater(mended)
		for i, group := range p.Groups { // a check uses what is lost as the deployed revision has it
			p.Groups[i] = slices.DeleteFunc(group, func(step apply.Step) bool { return mended.does(step.Ref) })
		}
	}
}

// mayMend tells whether the deployed revision may still be mended: nothing has refused that, and its record is not lost.
func (s *Situation) mayMend() bool { return !apply.Stays(s.Unmended) }

// Drifts tells whether the deployed revision has to be repaired, as far as is known without rendering it. A repair that has begun goes on.
func (s *Situation) Drifts() bool {
	return s.Deployed != "" && (s.Accepted != nil || areStopped(s.View.Objects) || len(s.Harmed()) > 0 || s.IsHarmed(true))
}

// Harmed returns the objects that may have to be repaired.
func (s *Situation) Harmed() map[live.Reference]bool {
	harmed := map[live.Reference]bool{}
	for what, seen := range s.View.Objects {
		mayDrift := seen.State == live.Unknown || seen.State == live.Lost || seen.State == live.Changed
		if mayDrift && render.StageOf(what.Kind().Kind) != render.Checks {
			harmed[what] = true
		}
	}
	return harmed
}

// IsHarmed tells whether something is known to be wrong with the deployed revision. The loss of an object that pods can mount does not
// count if a digest or a record tells which of them they do. The loss of one that was created for a later revision never counts.
func (s *Situation) IsHarmed(knowsMounts bool) bool {
	runs := false
	for what, seen := range s.View.Objects {
		stage := render.StageOf(what.Kind().Kind)
		isLost := seen.State == live.Lost && !seen.Pending && (stage != render.Mounts || !knowsMounts)
		if (isLost || seen.State == live.Changed) && stage != render.Checks {
			return true
		}
		runs = runs || stage == render.Workloads
	}
	return s.Begun || !runs
}
