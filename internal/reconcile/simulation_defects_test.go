package reconcile

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simDefect takes a mend out of the operator.
type simDefect struct {
	name  string
	rules string // those that may be violated by it
	take  func(*Clients)
}

// replan has a defect change plans.
func replan(change func(plan.Situation, plan.Plan) plan.Plan) func(*Clients) {
	return func(c *Clients) {
		decides := c.decision
		c.decision = func(s plan.Situation) plan.Plan { return change(s, decides(s)) }
	}
}

// situate has a defect change what is decided by.
func situate(change func(*plan.Situation)) func(*Clients) {
	return func(c *Clients) {
		decides := c.decision
		c.decision = func(s plan.Situation) plan.Plan {
			change(&s)
			return decides(s)
		}
	}
}

// without returns the plan without some steps.
func without(p plan.Plan, isLeftOut func(apply.Step) bool) plan.Plan {
	left := func(groups [][]apply.Step) (left [][]apply.Step) {
		for _, group := range groups {
			if kept := slices.DeleteFunc(slices.Clone(group), isLeftOut); len(kept) > 0 {
				left = append(left, kept)
			}
		}
		return left
	}
	p.Tries, p.Groups, p.Mends = slices.DeleteFunc(slices.Clone(p.Tries), isLeftOut), left(p.Groups), left(p.Mends)
	return p
}

// withSteps returns the plan with some steps changed.
func withSteps(p plan.Plan, change func(*apply.Step)) plan.Plan {
	changed := func(groups [][]apply.Step) (changed [][]apply.Step) {
		for _, group := range groups {
			group = slices.Clone(group)
			for i := range group {
				change(&group[i])
			}
			changed = append(changed, group)
		}
		return changed
	}
	p.Groups, p.Mends = changed(p.Groups), changed(p.Mends)
	return p
}

// deletesOthers deletes workloads that another one takes the place of.
func deletesOthers(s plan.Situation) []apply.Step {
	var deletes []apply.Step
	for what, seen := range s.View.Objects {
		isThere := seen.State != live.Lost && seen.State != live.Deleting
		if live.IsWorkload(what.Kind().Kind) && s.Want.Has(what) == nil && isThere {
			deletes = append(deletes, apply.Step{Action: apply.Delete, Ref: what, UID: seen.UID, Reason: "another one takes its place"})
		}
	}
	slices.SortFunc(deletes, func(a, b apply.Step) int { return strings.Compare(a.Ref.Use(), b.Ref.Use()) })
	return deletes
}

// simDefects are defects that the operator had, as far as the model can show them.
var simDefects = []simDefect{
	{"the workload of another mode is deleted first", "S1 S3", replan(func(s plan.Situation, p plan.Plan) plan.Plan {
		if deletes := deletesOthers(s); p.Verdict == plan.Upgrade && len(deletes) > 0 {
			p.Groups = slices.Insert(slices.Clone(p.Groups), 0, deletes)
		}
		return p
	})},
	{"the workload of another mode is deleted at once", "S1 S3", replan(func(s plan.Situation, p plan.Plan) plan.Plan {
		if deletes := deletesOthers(s); p.Verdict == plan.Upgrade && len(deletes) > 0 {
			p.Groups = append(slices.Clone(p.Groups), deletes)
		}
		return p
	})},
	{"nothing is tried before it is done", "S1", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return without(p, func(step apply.Step) bool { return step.Action == apply.Try })
	})},
	{"any refusal counts as that of an immutable field", "S1 S3 S6", func(c *Clients) {
		decides := c.decision
		c.decision = func(s plan.Situation) plan.Plan {
			p := decides(s)
			if p.Verdict != plan.Upgrade {
				return p
			}
			return withSteps(p, func(step *apply.Step) {
				seen, isThere := s.View.Objects[step.Ref]
				if step.Action == apply.Change && isThere && step.Ref.Kind().Kind == "StatefulSet" {
					step.Action, step.Old = apply.Delete, nil
					step.UID = seen.UID
				}
			})
		}
	}},
	{"a new workload begins with one pod", "S3", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return withSteps(p, func(step *apply.Step) { step.Replicas = 0 })
	})},
	{"the number of pods is not handed over", "S3", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return withSteps(p, func(step *apply.Step) { step.HandsOver = false })
	})},
	{"what was refused last is not tried before what pods use changes", "S1", replan(func(s plan.Situation, p plan.Plan) plan.Plan {
		return without(p, func(step apply.Step) bool { return step.Action == apply.Try && step.Ref == s.Refused })
	})},
	{"what is being deleted is not tried", "S1", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return without(p, func(step apply.Step) bool {
			return step.Action == apply.Try && step.Old != nil && step.Old.Ref == step.Ref
		})
	})},
	{"a mode that is taken again keeps its number of pods", "S3", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return withSteps(p, func(step *apply.Step) { step.ScalesUp = false })
	})},
	{"who starts takes all objects to be in order", "S6 S7", situate(func(s *plan.Situation) {
		for what, seen := range s.View.Objects {
			if seen.State == live.Unknown {
				seen.State = live.InOrder
				if wanted := s.Want.Has(what); wanted != nil {
					seen.Hash = wanted.Hash
				}
				s.View.Objects[what] = seen
			}
		}
	})},
	{"Service and NetworkPolicy change before the check has accepted anything", "S1", replan(func(s plan.Situation, p plan.Plan) plan.Plan {
		if p.Verdict != plan.Checking {
			return p
		}
		var early []apply.Step
		for i := range s.Want.Objects {
			wanted := &s.Want.Objects[i]
			seen := s.View.Objects[wanted.Ref]
			if wanted.Stage == render.Network && seen.Hash != wanted.Hash {
				step := apply.Step{Action: apply.Change, Ref: wanted.Ref, Object: wanted, UID: seen.UID, Reason: "too early"}
				early = append(early, step)
			}
		}
		if len(early) > 0 {
			p.Groups = append(slices.Clone(p.Groups), early)
		}
		return p
	})},
	{"the version of the user's Secret is taken after its content", "S6", func(c *Clients) {
		c.revisions = simLate{c.revisions.(simRevisions)}
	}},
	{"what is being deleted is applied again", "S8 S6 S7", replan(func(s plan.Situation, p plan.Plan) plan.Plan {
		var again []apply.Step
		for i := range s.Want.Objects {
			wanted := &s.Want.Objects[i]
			if seen := s.View.Objects[wanted.Ref]; seen.State == live.Deleting && wanted.Stage != render.Checks {
				again = append(again, apply.Step{Action: apply.Change, Ref: wanted.Ref, Object: wanted, UID: seen.UID})
			}
		}
		if len(again) > 0 && p.Verdict == plan.InSync {
			p.Groups = append(slices.Clone(p.Groups), again)
			p.Sooner(live.CacheDelay)
		}
		return p
	})},
	{"Ready does not say what is being deleted", "S7 S8", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		p.Message = ""
		return p
	})},
	{"an autoscaler of another kind goes last", "S6 S7", replan(func(_ plan.Situation, p plan.Plan) plan.Plan {
		return withSteps(p, func(step *apply.Step) {
			if step.Action == apply.Replace && step.Old.Ref != step.Ref {
				step.Action, step.Old = apply.Create, nil
			}
		})
	})},
	{"the last accepted revision is not repaired", "S6 S1", func(c *Clients) {
		c.revisions = simUnread{c.revisions}
	}},
	{"what is refused of the operator's change does not wait", "S9", situate(func(s *plan.Situation) {
		s.ByOperator = s.ByOperator && s.Want.Hash != ""
	})},
	{"a refused change is tried again at once", "S8 S9", situate(func(s *plan.Situation) { s.Failed = nil })},
	{"what was edited while nobody wanted it is in order", "S6 S7", situate(func(s *plan.Situation) {
		for i := range s.Want.Objects {
			what := s.Want.Objects[i].Ref
			if seen := s.View.Objects[what]; seen.State == live.InOrder && seen.Hash == "" {
				seen.Hash = s.Want.Objects[i].Hash
				s.View.Objects[what] = seen
			}
		}
	})},
	{"a revision that was begun before a start is not found", "S10", func(c *Clients) {
		recordsOf := c.recordsOf
		c.recordsOf = func(r *reconcile) records {
			return simUnfinished{records: recordsOf(r), deployed: r.deployed.Revision, isLost: true}
		}
	}},
	{"the record of a refused change stays", "S10", func(c *Clients) {
		recordsOf := c.recordsOf
		c.recordsOf = func(r *reconcile) records { return simUnfinished{records: recordsOf(r), neverGoes: true} }
	}},
	{"a change needs no proof", "S11", situate(func(s *plan.Situation) { s.Canary = nil })},
	{"a canary pod proves a change as soon as it is ready", "S11", onCanary(func(c *plan.Canary) { c.Hold = 0 })},
	{"two pods have a change first", "S11", onCanary(func(c *plan.Canary) { c.Pods.IntVal = 2 })},
	{"what pods mount is pruned at once", "S1", situate(func(s *plan.Situation) { s.View.Used = nil })},
}

// simLate takes versions of what is read after it is read.
type simLate struct{ simRevisions }

func (r simLate) Render(
	ctx context.Context, collector *unstructured.Unstructured, values map[string]any, running string,
) (*history.Revision, error) {
	rendered, err := r.simRevisions.Render(ctx, collector, values, running)
	if err == nil {
		s := r.world.of(collector)
		_, err = s.request("read the version of the user's Secret") // another client writes it meanwhile
		s.cachedSecret = s.secret                                   // and the informer cache shows that
	}
	if err == nil {
		rendered.Inputs, _, err = r.Inputs(ctx, collector)
	}
	return rendered, err
}

// simUnread reads no records.
type simUnread struct{ revisions }

func (simUnread) Recorded(
	context.Context, *unstructured.Unstructured, history.Content, *history.Revision,
) (*history.Revision, error) {
	return nil, errors.ErrUnsupported
}

// TestTheSimulationFindsEachDefect takes each mend out, and says how many schedules it takes to find that.
func TestTheSimulationFindsEachDefect(t *testing.T) {
	most := simNumber("MOST", 10000)
	for _, defect := range simDefects {
		t.Run(defect.name, func(t *testing.T) {
			var next atomic.Int64
			var mutex sync.Mutex
			var working sync.WaitGroup
			first, violation := most+1, ""
			for range runtime.GOMAXPROCS(0) {
				working.Go(func() {
					runner := newSimRunner(defect.take)
					for number := int(next.Add(1)); number <= most; number = int(next.Add(1)) {
						result := runner.run(simulation.New(uint64(number)), false)
						isFound := result.violation != "" && slices.Contains(strings.Fields(defect.rules), result.rule())
						mutex.Lock()
						if isFound && number < first {
							first, violation = number, result.violation
						}
						isOver := first <= most
						mutex.Unlock()
						if isOver { // the others still end what they have begun
							return
						}
					}
				})
			}
			working.Wait()
			if first > most {
				t.Fatalf("not found by %d schedules", most)
			}
			t.Logf("found by schedule %d: %.200s", first, violation)
		})
	}
}
