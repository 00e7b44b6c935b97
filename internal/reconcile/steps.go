package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// forward goes towards what is wanted. A revision begins when all dry runs are done, and is accepted when all of it is applied.
func (r *reconcile) forward(p plan.Plan) error {
	switch p.Verdict {
	case plan.Refused:
		return nil
	case plan.Deferred:
		if r.outcome.Update != nil { // it waits for its turn, and not for its predecessor
			r.remember()
		}
		return nil
	case plan.Uninstalling:
		return r.do(false, p.Groups...)
	}
	toPrune := p.ToPrune
	if err := r.deleteOrphans(p.Orphans); err != nil {
		toPrune = with(toPrune, refsOf(p.Orphans))
	}
	if p.Begins() {
		if err := r.do(false, p.Tries); err != nil {
			return err
		}
		if err := r.begin(p); err != nil {
			return err
		}
	}
	if err := r.do(!p.Begins() && !p.Verdict.Tests(), p.Groups...); err != nil {
		r.records.MakeRoom(r.ctx, err)
		return err
	}
	if p.Verdict == plan.Proving { // what is not mended beside it was just applied
		r.isUnknown = r.isUnknown && p.Restores
		return nil
	}
	if p.Verdict == plan.Checking { // what is deployed still replaces the same objects
		r.outcome.SlowCheck = p.SlowCheck
		r.outcome.Checking = fmt.Sprintf("Job %q checks the change", r.rendered.First(render.Checks).Ref.Name())
		if r.deployed.Revision > 0 {
			r.outcome.Checking += "; pods of the last revision still serve"
		}
		return nil
	}
	r.accept(p)
	if err := r.do(false, p.Deletes); err != nil {
		r.toPrune = with(toPrune, refsOf(p.Deletes))
		return err
	}
	r.toPrune = toPrune
	r.expects().KeepRest(r.found, r.rendered.Keeps, r.now())
	return nil
}

// renew deletes a pod, so that its StatefulSet makes it anew, if that is there: the informer cache may not show what has become of it. A
// refusal keeps nothing away, and is tried again after a while.
func (r *reconcile) renew(pod *apply.Step) {
	if pod == nil {
		return
	}
	cluster := r.clusterOf(r.collector)
	set, err := cluster.Read(r.ctx, pod.Old.Ref)
	if err == nil && set != nil && set.GetUID() == pod.Old.UID && set.GetDeletionTimestamp() == nil {
		err = cluster.Delete(r.ctx, pod.Ref, pod.UID, false, false)
	}
	if err != nil {
		log.FromContext(r.ctx).Info("could not delete a pod that lacks a claim", "pod", pod.Ref.Name(), "because", err.Error())
	}
	isCalm := r.outcome.Verdict == plan.InSync || r.outcome.Verdict == plan.Drifted // nothing else is waited for
	if isCalm && apply.Stays(err) {
		r.outcome.Message = fmt.Sprintf("pod %q lacks a claim of %s, and cannot be deleted: %s", pod.Ref.Name(), pod.Old.Ref, err)
		r.outcome.Requeue = plan.ScaledPeriod
	}
}

// deleteOrphans deletes what changes that were never accepted have left. It returns the error if it is not known whether that is done: a
// refusal keeps nothing away.
func (r *reconcile) deleteOrphans(orphans []apply.Step) error {
	err := r.do(false, orphans)
	if err == nil {
		return nil
	}
	log.FromContext(r.ctx).Info("could not delete what a refused change has left", "because", err.Error())
	if apply.IsLost(err) {
		return err
	}
	return nil
}

// with returns the objects that wait to be pruned, and more of them.
func with(toPrune map[live.Reference]bool, more []live.Reference) map[live.Reference]bool {
	all := maps.Clone(toPrune)
	if all == nil {
		all = map[live.Reference]bool{}
	}
	for _, what := range more {
		all[what] = true
	}
	return all
}

// refsOf returns the objects of steps.
func refsOf(steps []apply.Step) (refs []live.Reference) {
	for _, step := range steps {
		refs = append(refs, step.Ref)
	}
	return refs
}

// mend has what is deployed serve again as its record has it.
func (r *reconcile) mend(s plan.Situation, p plan.Plan) error {
	accepted := r.learned.accepted
	err := r.do(true, p.Mends...)
	if err == nil && accepted.Lacks == nil {
		err = r.do(true, p.MendDeletes) // a change that was refused has created them
	}
	if err = errors.Join(err, accepted.Lacks); err != nil {
		return err
	}
	for what, expected := range r.expects() { // also if a change that is not accepted has created it
		expected.Pending = expected.Pending && !accepted.Recorded.Keeps(what)
	}
	unwanted := r.expects().KeepRepaired(s.View.Objects, r.found, accepted.Want.Keeps)
	r.toPrune = with(r.toPrune, slices.DeleteFunc(unwanted, accepted.Recorded.Keeps))
	r.isUnknown = false
	return nil
}

// undo deletes what a first revision has created until it met something of another owner: nothing is half begun. A workload goes before
// what its pods mount. Claims stay.
func (r *reconcile) undo(p plan.Plan, cause error) error {
	_, isConflict := errors.AsType[*live.ConflictError](cause)
	if p.Verdict != plan.Install || !isConflict {
		return nil
	}
	isClaim := func(step apply.Step) bool { return step.Ref.Kind().Kind == "PersistentVolumeClaim" }
	created := slices.DeleteFunc(r.learned.created, isClaim)
	slices.Reverse(created)
	return r.do(false, slices.Collect(slices.Chunk(created, 1))...)
}

// do does steps. mends tells that they mend the deployed revision.
func (r *reconcile) do(mends bool, groups ...[]apply.Step) error {
	var mended []string
	applier := &apply.Applier{
		Cluster: r.clusterOf(r.collector), Collector: r.collector, Together: r.together,
		Lost: func(step apply.Step) {
			r.touched = true
			r.expected.Lost(step.Ref, step.Action == apply.Create)
		},
		Note: func(step apply.Step, after *live.Object) {
			r.touched = true
			if r.note(step, after, mends) {
				mended = append(mended, step.Ref.Kind().Kind+" "+step.Ref.Name())
			}
		},
	}
	err := applier.Do(r.ctx, groups)
	if len(mended) > 0 {
		slices.Sort(mended)
		r.Metrics.Repaired()
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "DriftRepaired", "restored to the release: %s", strings.Join(mended, ", "))
	}
	return err
}

// note notes what a step has done. It tells whether that has mended something.
func (r *reconcile) note(step apply.Step, after *live.Object, mends bool) bool {
	expected := r.expects()
	mends = mends && !step.Leaves
	if step.Old != nil && step.Old.Ref != step.Ref {
		delete(expected, step.Old.Ref)
		delete(r.found, step.Old.Ref)
	}
	switch {
	case after == nil:
		delete(r.found, step.Ref)
		if step.Action != apply.Adopt { // what was looked for in vain is missed if the change is refused
			delete(expected, step.Ref)
		}
		return false
	case step.Action == apply.Adopt:
		expected[step.Ref] = live.Applied(*after, r.now(), nil, false)
		expected[step.Ref].Edited = true // it is unknown
		expected[step.Ref].Pending = r.deployed.Revision == 0
		return false
	}
	after.Hash = step.Object.Hash // which a webhook may have taken away
	before, known, creates := r.found[step.Ref], expected[step.Ref], step.Action == apply.Create
	// The informer cache may not show the last apply yet. An object that it does not show at all can have lost its label.
	isShown := before.UID == after.UID
	isAgain := isShown && known != nil && known.UID == after.UID && known.Version == after.Version
	isSame := isAgain || isShown && before.Version == after.Version
	isRepair := known != nil && (mends && (!creates || before.Version != after.Version) || creates && known.UID != "")
	next := live.Applied(*after, r.now(), known, isRepair && !isAgain)
	if mends && isAgain {
		next.Repairs, next.Next = known.Repairs, known.Next
	}
	if !mends {
		next.Pending = next.Pending || creates || r.deployed.Revision == 0
	}
	expected[step.Ref] = next
	if creates {
		r.learned.created = append(r.learned.created, apply.Step{
			Action: apply.Delete, Ref: step.Ref, UID: after.UID, Reason: "nothing is half begun",
		})
	}
	if !mends || isSame {
		return false
	}
	if next.IsContested() {
		r.Events.Eventf(r.collector, corev1.EventTypeWarning, "Contested", plan.Contested, plan.EditorOf(before.Editor), step.Ref)
	}
	return true
}

// expects returns what is expected of the objects, from now on.
func (r *reconcile) expects() live.Expectations {
	if r.expected == nil {
		r.expected = live.Expectations{}
	}
	return r.expected
}
