package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// carryOut does what was decided. The deployed revision is repaired while another one waits, is checked or is refused.
func (r *actionClient) carryOut() error {
	err := r.forward()
	isRefused := err != nil && !apply.IsLost(err) && r.plan.Verdict != plan.Drifted
	if r.plan.Restores || isRefused {
		err = r.repairBeside(err)
	}
	isOfDeployed := r.rendered != nil && !slices.Contains([]plan.Verdict{plan.Checking, plan.Deferred}, r.plan.Verdict)
	if err == nil && isOfDeployed {
		r.expects().KeepRest(r.found, r.rendered.Keeps, r.now())
	}
	r.summarize(err)
	return err
}

// forward goes towards what is wanted. It decides again if the API server has told something new.
func (r *actionClient) forward() error {
	if r.plan.Revises() {
		if err := r.records.Prepare(r.ctx); err != nil {
			return err
		}
	}
	for range 4 {
		if r.plan.Verdict == plan.Refused {
			return r.plan.Err
		}
		if r.plan.Verdict == plan.Deferred {
			if r.outcome.Update != nil { // it waits for its turn, and not for its predecessor
				r.remember()
			}
			return nil
		}
		if err := r.do(false, r.plan.Leftovers); err != nil {
			log.FromContext(r.ctx).Info("could not delete what a refused change has left", "because", err.Error())
			if apply.IsLost(err) {
				r.plan.WaitFor(r.plan.Leftovers)
			}
		}
		err := r.attempt()
		if err == nil {
			r.accept()
			return r.deleteRest()
		}
		if again, learned := r.learn(err); !again {
			return errors.Join(r.withoutObstacle(err), learned, r.undo(err))
		}
		if err := r.decide(); err != nil {
			return err
		}
	}
	return errors.New("what the API server says changes again and again")
}

// attempt does what was decided. What revises is recorded when all dry runs are done, and before anything is changed.
func (r *actionClient) attempt() error {
	if !r.plan.Revises() {
		return r.do(r.plan.Verdict != plan.Checking && !r.isMoved, r.plan.Groups...)
	}
	isTried := func(group []apply.Step) bool { return group[0].Action != apply.Try }
	tries := slices.IndexFunc(r.plan.Groups, isTried)
	if tries < 0 {
		tries = len(r.plan.Groups)
	}
	if err := r.do(false, r.plan.Groups[:tries]...); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.do(false, r.plan.Groups[tries:]...)
}

// recall finds a revision that an operator began before this one started, and that the status does not tell of. There is none if the
// objects are those of the deployed revision, which has the spec of now.
func (r *actionClient) recall() error {
	if r.begun != nil {
		return nil
	}
	next := r.deployed.Revision + 1
	if next == 1 {
		if err := r.records.Prepare(r.ctx); err != nil {
			return err
		}
	}
	isNone := len(r.records.Kept()) == 0
	if next > 1 {
		isNone = !r.isUnknown && r.deployed.Generation == r.collector.GetGeneration()
	}
	found := &v1alpha1.RecordedRevision{}
	if !isNone {
		switch recorded, err := r.recorded(next); {
		case err == nil:
			found = &v1alpha1.RecordedRevision{
				Revision: int64(next), UID: recorded.Record, Hash: recorded.Hash, Generation: recorded.Inputs.Generation,
			}
		case apply.IsPassing(err):
			return err
		}
	}
	r.begun = found
	return nil
}

// hasBegun tells whether a revision is recorded that is not accepted yet.
func (r *actionClient) hasBegun() bool { return r.begun != nil && r.begun.Revision != 0 }

// begin records what is rendered, unless it is.
func (r *actionClient) begin() error {
	if r.begun.Revision != 0 && r.begun.Hash == r.rendered.Hash && r.begun.Generation == r.rendered.Inputs.Generation {
		return nil
	}
	if err := r.withdraw(); err != nil {
		return err
	}
	r.rendered.Attribute(inventory.ChangerOf(r.collector), r.deployed, r.latest.Inputs, inventory.Running(r.found))
	begun, err := r.records.Begin(r.ctx, r.rendered.Content())
	if err == nil {
		r.begun = &begun
	}
	return err
}

// withdraw takes back the record of a revision that was begun and not accepted: Helm shows the accepted one again.
func (r *actionClient) withdraw() error {
	if !r.hasBegun() {
		return nil
	}
	err := r.records.Withdraw(r.ctx, *r.begun)
	if err == nil {
		r.begun = &v1alpha1.RecordedRevision{}
	}
	return err
}

// withoutObstacle returns why a change has not come. Nothing that it would have waited for is told: the next reconcile does not try it.
func (r *actionClient) withoutObstacle(err error) error {
	if r.plan.Revises() && !apply.IsLost(err) {
		r.plan.Obstacle = ""
	}
	return err
}

// learn finds out what the next decision needs to know after an error, and tells whether it can be another one.
func (r *actionClient) learn(err error) (again bool, failed error) {
	if apply.HasAdopted(err) {
		return true, nil
	}
	applied := func(what inventory.Reference) (*render.Object, error) {
		recorded, err := r.recorded(r.deployed.Revision)
		switch {
		case apply.IsPassing(err):
			return nil, err
		case err != nil:
			return nil, nil //nolint:nilerr // there is no revision, or nobody knows what it was
		}
		return recorded.Has(what), nil
	}
	if again, failed = r.immutable.Learn(r.ctx, r.clusterOf(r.collector), applied, err); again || failed != nil {
		return again, failed
	}
	if _, is := errors.AsType[*apply.GoneError](err); is {
		served, err := r.Discover(r.ctx)
		if err != nil || served.Version == r.rendered.Inputs.Served {
			return false, nil //nolint:nilerr // the cause is told
		}
		err = r.render()
		return err == nil, err
	}
	return false, nil
}

// deleteRest deletes what nobody needs any more. As long as that is not deleted it is waited for.
func (r *actionClient) deleteRest() error {
	err := r.do(false, r.plan.Deletes)
	if err != nil {
		r.plan.WaitFor(r.plan.Deletes)
	}
	if r.plan.Verdict != plan.Checking { // what is deployed still replaces the same objects
		r.waits = r.plan.Waits
	}
	return err
}

// do does steps. repairs tells that they restore the deployed revision.
func (r *actionClient) do(repairs bool, groups ...[]apply.Step) error {
	var repaired []string
	applier := &apply.Applier{
		Cluster: r.clusterOf(r.collector), Collector: r.collector, Shard: r.Source.Shard, Together: r.together,
		Before: r.mayGoOn,
		Lost:   func(step apply.Step) { r.expected.Lost(step.Ref, step.Action == apply.Create) },
		Note: func(step apply.Step, after *inventory.Object) {
			if r.note(step, after, repairs) {
				repaired = append(repaired, step.Ref.Kind().Kind+" "+step.Ref.Name())
			}
		},
	}
	err := applier.Do(r.ctx, groups)
	if len(repaired) > 0 {
		slices.Sort(repaired)
		r.Metrics.Repaired()
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "DriftRepaired", "restored to the release: %s", strings.Join(repaired, ", "))
	}
	return err
}

// note notes what a step has done. It tells whether that was a repair.
func (r *actionClient) note(step apply.Step, after *inventory.Object, repairs bool) bool {
	expected, creates := r.expects(), step.Action == apply.Create
	if step.Old != nil && step.Old.Ref != step.Ref {
		delete(expected, step.Old.Ref)
		delete(r.found, step.Old.Ref)
	}
	if after == nil {
		delete(r.found, step.Ref)
		if step.Action != apply.Adopt { // what was looked for in vain is missed if the change is refused
			delete(expected, step.Ref)
		}
		return false
	}
	if step.Action == apply.Adopt {
		expected[step.Ref] = drift.Applied(*after, r.now(), nil, false)
		expected[step.Ref].Edited = true // nobody knows
		expected[step.Ref].Pending = r.deployed.Revision == 0
		return false
	}
	after.Hash = step.Object.Hash // which a webhook may have taken away
	before, known := r.found[step.Ref], expected[step.Ref]
	isRepair := known != nil && (repairs && (!creates || before.Version != after.Version) || creates && known.UID != "")
	next := drift.Applied(*after, r.now(), known, isRepair)
	next.Pending = next.Pending || !repairs && (creates || r.deployed.Revision == 0)
	expected[step.Ref] = next
	if creates {
		r.created = append(r.created, apply.Step{Action: apply.Delete, Ref: step.Ref, UID: after.UID, Reason: "nothing is half begun"})
	}
	isSame := before.UID == after.UID && before.Version == after.Version
	isNew := creates && step.Object.Stage <= render.Checks && (known == nil || known.Pending)
	isUnused := !repairs && !creates && step.Object.Stage == render.Mounts && !step.InUse
	isHarmless := isNew || isUnused || isSame && (known == nil || known.Version == after.Version)
	r.disturbed = r.disturbed || !isHarmless // until all of the revision is applied
	if !repairs || isSame {
		return false
	}
	if next.IsContested() {
		r.Events.Eventf(r.collector, corev1.EventTypeWarning, "Contested", plan.Contested, plan.EditorOf(before.Editor), step.Ref)
	}
	return true
}

// expects returns what is expected of the objects, from now on.
func (r *actionClient) expects() drift.Expectations {
	if r.expected == nil {
		r.expected = drift.Expectations{}
	}
	return r.expected
}

// undo deletes what a first revision has created until it met something of somebody else: nothing is half begun. Claims stay.
func (r *actionClient) undo(cause error) error {
	_, isConflict := errors.AsType[*inventory.ConflictError](cause)
	created := slices.DeleteFunc(r.created, func(step apply.Step) bool { return step.Ref.Kind().Kind == "PersistentVolumeClaim" })
	if r.plan.Verdict != plan.Install || !isConflict || len(created) == 0 {
		return nil
	}
	return r.do(false, created)
}

// accept accepts a revision whose steps are done, and remembers what was rendered.
func (r *actionClient) accept() {
	if r.plan.Verdict == plan.Checking {
		r.outcome.Checking = fmt.Sprintf("Job %q checks the change", r.rendered.First(render.Checks).Ref.Name())
		if r.deployed.Revision > 0 {
			r.outcome.Checking += "; pods of the last revision still serve"
		}
		return
	}
	number := r.deployed.Revision
	r.disturbed, r.isUnknown = false, false // the API server has accepted all of it
	for _, expected := range r.expected {
		expected.Pending = false
	}
	if r.plan.Revises() {
		number = int(r.begun.Revision)
		r.records.Accept(r.ctx, *r.begun)
		r.begun = &v1alpha1.RecordedRevision{}
	}
	r.remember()
	r.waits = r.plan.Waits
	r.deployed = r.rendered.Deployed(number)
}

// remember remembers what was rendered, and from what.
func (r *actionClient) remember() {
	r.latest, r.until = change{r.rendered.Inputs, r.rendered.Hash}, r.now().Add(r.Period)
}

// summarize gives the informer cache a moment to show what was applied, and says how the objects are. err is that of the reconcile.
func (r *actionClient) summarize(err error) {
	isInOrder, isHeld := r.expected.AreInOrder(r.found, r.waits, r.now())
	if !isInOrder && r.cacheWait > 0 && !r.isMoved && r.plan.Obstacle == "" {
		_ = wait.PollUntilContextTimeout(r.ctx, 2*time.Millisecond, r.cacheWait, true, func(context.Context) (bool, error) {
			err := r.look()
			isInOrder, isHeld = r.expected.AreInOrder(r.found, r.waits, r.now())
			return isInOrder && err == nil, err
		})
	}
	// While a change waits or is refused, it is not known which of the objects wait to be pruned.
	isOfDeployed := r.plan.Verdict != plan.Deferred && (r.rendered == nil || r.rendered.Hash == r.deployed.Hash())
	if isInOrder && !r.isUnknown && !r.disturbed && isOfDeployed && err == nil { // what was refused is not in order
		r.deployed.Seen(r.found, r.waits)
	}
	if r.rendered != nil { // of what the informer cache does not have yet, or has no more
		if now, _, err := r.revisions.Inputs(r.ctx, r.collector); err == nil && now != r.rendered.Inputs {
			r.plan.Sooner(inventory.CacheDelay)
		}
	}
	mayHaveEnded := r.plan.Obstacle != "" && len(r.plan.Groups) > 0
	if !isInOrder && !isHeld && r.plan.Obstacle == "" || mayHaveEnded {
		r.plan.Sooner(inventory.CacheDelay)
	}
	r.outcome.Verdict, r.outcome.InOrder, r.outcome.Requeue = r.plan.Verdict, isInOrder, r.plan.After
}
