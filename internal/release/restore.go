package release

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

// isDisturbed tells whether the objects may not be those of the deployed revision: this reconcile has changed some, or somebody else
// has.
func (r *actionClient) isDisturbed() bool {
	s := plan.Situation{Deployed: r.hash(), View: inventory.View{Objects: r.expected.See(r.found, r.now())}}
	return s.Deployed != "" && (r.disturbed || s.Drifts())
}

// repairBeside repairs the deployed revision while another one waits, is checked, or is refused for a cause. A change of the operator
// no longer waits if its predecessor cannot be repaired.
func (r *actionClient) repairBeside(cause error) error {
	if !r.isDisturbed() && !r.isMoved {
		return cause
	}
	err := r.repair()
	switch {
	case err == nil:
		return cause
	case cause == nil && r.plan.Verdict == plan.Deferred:
		r.isUnrepairable, r.outcome.Update = true, nil
		if err := r.decide(); err != nil {
			return err
		}
		if r.plan.Verdict != plan.Deferred {
			return r.forward()
		}
		err = fmt.Errorf("pods run without their StatefulSet; mend this, or delete the pods: %w", err)
	}
	err = fmt.Errorf("repair revision %d meanwhile: %w", r.revision(), err)
	if cause != nil { // which the status tells
		log.FromContext(r.ctx).Error(err, "the deployed revision is not repaired")
		return cause
	}
	return err
}

func (r *actionClient) repair() error {
	want, lacks, err := r.accepted()
	if err != nil {
		return err
	}
	s, err := r.situation(want)
	if err != nil {
		return err
	}
	s.Restores, s.Immutable = true, nil // which is of the other revision
	p := r.decision(s)
	if p.Obstacle != "" && r.plan.Obstacle == "" {
		r.plan.Obstacle = p.Obstacle
	}
	if err := errors.Join(p.Err, r.do(p, true), lacks); err != nil {
		return err
	}
	for what, seen := range s.View.Objects { // what nobody wants any more is no drift
		object, isThere := r.found[what]
		switch {
		case want.Has(what) != nil:
			if isThere && seen.State == inventory.Deleting { // it is missed when it has gone
				r.expected.Keep(what, object)
			}
		case seen.State == inventory.Lost:
			delete(r.expected, what)
		case isThere && seen.State != inventory.InOrder && seen.State != inventory.Deleting:
			r.expected.Keep(what, object)
		}
	}
	r.disturbed, r.isUnknown = false, false
	return nil
}

// recorded is a revision as its record has it.
type recorded struct {
	plan.Want
	values     map[string]any
	configHash string

	// secret returns a Secret of the revision. The record has no data of Secrets.
	secret func(inventory.Reference) (*render.Object, error)
}

func recordedRevision(r *actionClient, revision int) (*recorded, error) {
	manifest, values, err := r.recordsOf(r).Read(r.ctx, revision)
	if err != nil {
		return nil, err
	}
	found, err := render.Parse(manifest)
	if err != nil {
		return nil, err
	}
	found.Objects = slices.DeleteFunc(found.Objects, func(object *unstructured.Unstructured) bool { // its kind has gone since
		kind := object.GroupVersionKind()
		_, err := r.cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return meta.IsNoMatchError(err)
	})
	want, err := r.own(found)
	return &recorded{want, values, found.ConfigHash(), func(what inventory.Reference) (*render.Object, error) {
		return r.secretOf(what, values)
	}}, err
}

// recallLater takes the revision after that of the status for the deployed one, if there is a record, and all objects are there as the
// record has them: an operator was killed before it told. Nobody who may only write Secrets can bring that about.
func (r *actionClient) recallLater() error {
	revision := r.revision() + 1
	found, err := r.recorded(r, revision)
	switch {
	case apply.IsLost(err):
		return err
	case err != nil:
		return nil //nolint:nilerr // there is none, or it is somebody else's
	}
	want, err := found.Accepted(found.First(render.Checks))
	if err != nil || want.First(render.Workloads) == nil {
		return err
	}
	for _, object := range want.Objects {
		live, isThere := r.found[object.Ref]
		if !isThere || live.Hash != object.Hash && object.Ref.Kind().Kind != "Secret" {
			return nil
		}
	}
	for what, object := range r.found {
		if stage := render.StageOf(what.Kind().Kind); stage >= render.Network && !object.Deleting && want.Has(what) == nil {
			return nil
		}
	}
	r.deployed = &Deployed{
		Revision: revision, Version: versionOf(found.values), ConfigHash: found.configHash,
		Digest: strings.Repeat("-", partLength) + found.Hash + unseen,
	}
	return nil
}

// accepted returns the deployed revision as its record has it, and the status says its hash. A Secret in order stays, and another
// one is rendered from the recorded values. lacks says which cannot be rendered.
func (r *actionClient) accepted() (want plan.Want, lacks, err error) {
	found, err := r.recorded(r, r.revision())
	if err != nil {
		return want, nil, err
	}
	if found.Hash != r.hash() {
		return want, nil, fmt.Errorf("the record of revision %d is not what was deployed; somebody has changed it", r.revision())
	}
	want = found.Want
	kept, view := make([]render.Object, 0, len(want.Objects)), r.expected.See(r.found, r.now())
	for _, object := range want.Objects {
		if object.Ref.Kind().Kind != "Secret" {
			kept = append(kept, object)
			continue
		}
		if view[object.Ref].State == inventory.InOrder {
			continue
		}
		secret, err := found.secret(object.Ref)
		if err != nil {
			lacks = errors.Join(lacks, err)
			continue
		}
		kept = append(kept, *secret)
	}
	want.Objects = kept
	return want, lacks, nil
}

// secretOf returns a Secret of the deployed revision. Its name says its content, so it does not matter what else is rendered.
func (r *actionClient) secretOf(what inventory.Reference, values map[string]any) (*render.Object, error) {
	if r.rendered != nil {
		if same := r.rendered.Has(what); same != nil {
			return same, nil
		}
	}
	offered, err := r.capabilities.Get(r.ctx)
	if err != nil {
		return nil, err
	}
	found, err := render.Render(r.chart.Chart, client.ObjectKeyFromObject(r.collector), values, offered.Capabilities, postrender.Renderer{})
	if err != nil {
		return nil, err
	}
	again, err := r.own(found)
	if err != nil {
		return nil, err
	}
	if same := again.Has(what); same != nil {
		return same, nil
	}
	return nil, fmt.Errorf("%s has gone, and its content is not recorded; have a revision accepted that has it", what)
}
