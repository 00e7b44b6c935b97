package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/sources"
)

// Recorded returns a revision as its record has it. beside is what was rendered now, or nil. It can have the
// same Secrets, whose names say their content.
func (s *Source) Recorded(
	ctx context.Context, collector *unstructured.Unstructured, of Content, beside *Revision,
) (*Revision, error) {
	found, err := render.ParseRecorded(of.Manifest)
	if err != nil {
		return nil, err
	}
	served, err := s.Served(ctx)
	if err != nil {
		return nil, err
	}
	found.Objects = slices.DeleteFunc(found.Objects, func(object *unstructured.Unstructured) bool {
		kind := object.GroupVersionKind()
		_, err := s.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		isOfOtherChart := !slices.Contains(s.Chart.Kinds, kind) && !slices.Contains(served.Kinds, kind) // or it has gone from the cluster
		return isOfOtherChart || meta.IsNoMatchError(err)
	})
	want, err := s.own(found, collector)
	return &Revision{
		Want: want, Values: of.Values, ConfigHash: found.ConfigHash(), Inputs: Inputs{Generation: of.Generation},
		Bases: sources.DescribedBases(of.Values), Record: of.UID,
		Secret: func(what live.Reference) (*render.Object, error) {
			if beside != nil {
				if same := beside.Has(what); same != nil {
					return same, nil
				}
			}
			return s.secret(ctx, collector, of.Values, what)
		},
	}, err
}

// secret renders a Secret from recorded values. Its name says its content, so it does not matter what else is rendered.
func (s *Source) secret(
	ctx context.Context, collector *unstructured.Unstructured, values map[string]any, what live.Reference,
) (*render.Object, error) {
	served, err := s.Served(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.Chart.Render(client.ObjectKeyFromObject(collector), values, served.Capabilities, postrender.Renderer{})
	if err != nil {
		return nil, err
	}
	again, err := s.own(found, collector)
	if err != nil {
		return nil, err
	}
	if same := again.Has(what); same != nil {
		return same, nil
	}
	return nil, fmt.Errorf("%s has gone, and its content is not recorded; have a revision accepted that has it", what)
}

// Restored returns what objects are repaired to, if a recorded revision is the deployed one: the status says its hash. A Secret in
// order stays, and another one is rendered from the recorded values, unless the revision has its data. lacks says which cannot be
// rendered.
//
// Otherwise what is deployed is unknown: another version of the operator has recorded it, or another client has changed the record. Then
// everything stays as it is. It is an error if something is known to be wrong.
func (r *Revision) Restored(deployed Deployed, s plan.Situation) (want plan.Want, lacks, err error) {
	want.Hash = deployed.Hash()
	if r.Hash != deployed.Hash() {
		if r.isComplete(s.View.Objects) && !s.IsHarmed(len(r.Objects) > 0) {
			return want, nil, nil
		}
		return want, nil, fmt.Errorf("the record of revision %d is not what the status says; "+
			"another version of the operator has written it, or another client has changed it", deployed.Revision)
	}
	for _, object := range r.Objects {
		if object.Ref.Kind().Kind == "Secret" && r.Secret != nil {
			if s.View.Objects[object.Ref].State == live.InOrder {
				continue
			}
			secret, err := r.Secret(object.Ref)
			if err != nil {
				lacks = errors.Join(lacks, err)
				continue
			}
			object = *secret
		}
		want.Objects = append(want.Objects, object)
	}
	return want, lacks, nil
}

// isComplete tells whether all objects of a recorded revision are there to stay.
func (r *Revision) isComplete(found map[live.Reference]live.Seen) bool {
	return !slices.ContainsFunc(r.Objects, func(object render.Object) bool {
		seen := found[object.Ref]
		return object.Stage != render.Checks && !seen.IsThere()
	})
}
