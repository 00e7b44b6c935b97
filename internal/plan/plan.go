// Package plan decides what is done about a Collector. One pure function makes a Plan of a Situation. The situation says what is there
// and what is wanted. The plan has a verdict and the steps in their order. No other package decides that. This one sends no request,
// and reads no clock.
package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// Verdict says where a Collector is.
type Verdict string

// The verdicts.
const (
	// InSync: the objects are those of the deployed revision.
	InSync Verdict = "InSync"

	// Drifted: they are not, and are repaired.
	Drifted Verdict = "Drifted"

	// Install: there is nothing yet.
	Install Verdict = "Install"

	// Upgrade: another revision must be deployed.
	Upgrade Verdict = "Upgrade"

	// Deferred: another revision is the operator's change, and waits for its turn.
	Deferred Verdict = "Deferred"

	// Checking: a Job has not accepted another revision yet.
	Checking Verdict = "Checking"

	// Proving: canary pods have another revision, and have not proven it yet.
	Proving Verdict = "Proving"

	// Refused: another revision cannot be deployed.
	Refused Verdict = "Refused"

	// Uninstalling: all objects go.
	Uninstalling Verdict = "Uninstalling"
)

// Waits tells whether another revision waits for a check, for its turn or for its proof.
func (v Verdict) Waits() bool { return v.Tests() || v == Deferred }

// Tests tells whether another revision is tested, and nothing of it is accepted.
func (v Verdict) Tests() bool { return v == Checking || v == Proving }

// IsOfChange tells whether another revision is refused if a step fails: then what is deployed may have to be mended.
func (v Verdict) IsOfChange() bool { return v != Drifted && v != Deferred && v != Uninstalling }

// Plan is what was decided.
type Plan struct {
	Verdict Verdict

	// Tries are dry runs, before a revision begins: a refusal of one leaves everything as it is.
	Tries []apply.Step

	// Groups are steps: those of one group are done together, and the next group after it.
	Groups [][]apply.Step

	// Orphans delete what changes that were never accepted have left. They are done first, and their refusal keeps nothing away.
	Orphans []apply.Step

	// Deletes are done last, when the revision is recorded: what they delete is not needed, so their refusal takes nothing back.
	Deletes []apply.Step

	// Renews deletes a pod, after all else: its StatefulSet makes it anew. It is nil if none has to be.
	Renews *apply.Step

	// Err says why the verdict is Refused, or what an uninstallation waits for.
	Err error

	// Restores tells that the deployed revision has to be mended, while another one waits or is refused. Mends are the steps of that, in
	// groups, and then MendDeletes. Unmended says why it cannot be mended. Recalls asks for what the deployed revision is: Accepted of the
	// situation.
	Restores    bool
	Mends       [][]apply.Step
	MendDeletes []apply.Step
	Unmended    error
	Recalls     bool

	// Canary is the change that canary pods prove or have failed to prove, or nil. Proof says what they have shown so far. Objects in holds
	// are as the change has them, so they are not mended meanwhile.
	Canary *v1alpha1.CanaryStatus
	Proof  string
	holds  Want

	// Proven tells that canary pods have proven the change. Unproven says why a change that has to prove itself is deployed without a proof,
	// or is empty.
	Proven   bool
	Unproven string

	// ToPrune are objects that are pruned later: once pods have gone, or others serve.
	ToPrune map[live.Reference]bool

	// SlowCheck is a Job whose pod may be kept from running, or empty.
	SlowCheck types.UID

	// Message says what keeps objects from being as they should, or is empty.
	Message string

	// After is when to look again although nothing happens; 0 is never.
	After time.Duration
}

// Begins tells whether the plan begins another revision.
func (p *Plan) Begins() bool { return p.Revises() || p.Verdict == Proving }

// Revises tells whether the plan brings another revision.
func (p *Plan) Revises() bool {
	return p.Verdict == Install || p.Verdict == Upgrade
}

// does tells whether a step of the plan's groups, or one that mends, is about an object.
func (p *Plan) does(what live.Reference) bool {
	return slices.ContainsFunc(slices.Concat(p.Groups, p.Mends), func(group []apply.Step) bool {
		return slices.ContainsFunc(group, func(step apply.Step) bool { return step.Ref == what })
	})
}

// Creates returns how many objects of a kind the plan creates.
func (p *Plan) Creates(kind string) (count int) {
	for _, group := range p.Groups {
		for _, step := range group {
			if step.Action == apply.Create && step.Ref.Kind().Kind == kind {
				count++
			}
		}
	}
	return count
}

// add adds a group of steps, unless it is empty.
func (p *Plan) add(group []apply.Step) {
	if len(group) > 0 {
		p.Groups = append(p.Groups, group)
	}
}

// Sooner has the plan looked at again after a delay, or earlier.
func (p *Plan) Sooner(delay time.Duration) {
	if p.After == 0 || delay < p.After {
		p.After = max(delay, time.Millisecond)
	}
}

// noLater has the plan looked at again no later than another one, which may not ask for that.
func (p *Plan) noLater(than Plan) {
	if than.After > 0 {
		p.Sooner(than.After)
	}
}

// Situation is all that a decision looks at.
type Situation struct {
	Now time.Time

	// Deletes tells that the Collector is being deleted, and Late that it goes now, also if objects stay.
	Deletes, Late bool

	// Retains tells that the claims of a StatefulSet stay when the Collector is deleted, as the spec says now.
	Retains bool

	// Disowned are workloads that the operator has applied and that no longer have an owner reference. It is empty unless the Collector is
	// being deleted.
	Disowned []live.Reference

	// Deployed is the hash of what was rendered for the deployed revision. Empty says that there is none, or that it is not known.
	Deployed string

	// Want is what was rendered.
	Want Want

	// View is what the Collector has. Used of it is needed for another revision, and if there is more than what is wanted.
	View live.View

	// ByOperator tells that only the operator has changed what is rendered: the chart, or the capabilities of the cluster.
	ByOperator bool

	// Turn tells that it is the Collector's turn to take a change of the operator.
	Turn bool

	// Accepted is the deployed revision as its record has it, or nil as long as that was not read.
	Accepted *Accepted

	// Unmended says why the deployed revision cannot be mended, as this reconcile has found out, or the last one as long as the delay after
	// that is not over.
	Unmended error

	// Restores tells that Want is the deployed revision while another one waits or is refused: nothing is pruned.
	Restores bool

	// Begun tells that another revision has begun, and that what serves may be of it.
	Begun bool

	// Refusal says why what is wanted cannot be deployed: nothing can be rendered, or the API server has refused it in this reconcile.
	Refusal error

	// Failed says why the same change has failed, as long as the delay after that is not over.
	Failed error

	// Canary is what spec.canary says, or nil without it.
	Canary *Canary

	// Refused is the object that the last reconcile could not apply for the same change.
	Refused live.Reference

	// History is how many Secrets with configurations stay.
	History int

	// Pods is how many pods the Collector's status tells of.
	Pods int32

	// ScaledBy is another client's autoscaler. It sets the number of pods of the workload Scaled, although the revision has one, too. Both
	// are empty without such an autoscaler.
	Scaled   live.Reference
	ScaledBy string

	// Reported is the Job whose end without a verdict the last reconcile has reported.
	Reported types.UID

	// Conflicted tells that the last reconcile met an object of another owner.
	Conflicted bool

	// Immutable are objects whose immutable fields are to change, found out in this reconcile.
	Immutable apply.Immutables
}

// Accepted is a deployed revision as its record has it.
type Accepted struct {
	// Recorded is all of it, without the data of Secrets.
	Recorded Want

	// Want is what has to be there. It leaves out Secrets that are in order, and is empty if all may stay as it is.
	Want Want

	// Lacks says which Secrets cannot be rendered again, and Err why nothing of the revision can be restored.
	Lacks, Err error

	// Immutable are objects of it whose immutable fields are to change.
	Immutable apply.Immutables
}

// changes tells whether another revision than the deployed one is wanted.
func (s *Situation) changes() bool { return s.Deployed == "" || s.Want.Hash != s.Deployed }

// Want is what a Collector is to become.
type Want struct {
	Hash    string
	Objects []render.Object
}

// Has returns the wanted object of a reference, or nil.
func (w Want) Has(what live.Reference) *render.Object {
	for i := range w.Objects {
		if w.Objects[i].Ref == what {
			return &w.Objects[i]
		}
	}
	return nil
}

// without returns what is wanted without the objects of something else.
func (w Want) without(others Want) Want {
	if len(others.Objects) == 0 {
		return w
	}
	isOther := func(object render.Object) bool { return others.Has(object.Ref) != nil }
	return Want{w.Hash, slices.DeleteFunc(slices.Clone(w.Objects), isOther)}
}

// Keeps tells whether an object of a reference is wanted as long as the revision is deployed. A check is not.
func (w Want) Keeps(what live.Reference) bool {
	wanted := w.Has(what)
	return wanted != nil && wanted.Stage != render.Checks
}

// First returns the first wanted object of a stage, or nil.
func (w Want) First(stage render.Stage) *render.Object {
	for i := range w.Objects {
		if w.Objects[i].Stage == stage {
			return &w.Objects[i]
		}
	}
	return nil
}
