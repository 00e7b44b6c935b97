package release

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replace replaces the lists of an object. Applying merges them by keys: where somebody else has edited a key, the result
// can be invalid, such as two ports of one name. A Secret is deleted, to be created anew: nobody can change an immutable one.
func (r *actionClient) replace(s *step, before client.Object) error {
	if s.ref.kind.Kind == "Secret" {
		return r.remove(s.ref, before)
	}
	text, err := json.Marshal(withMetadata(s.object, "uid", string(before.GetUID())).Object)
	if err != nil {
		return err //nolint:wrapcheck // the caller has another error to tell
	}
	after := objectOf(s.ref.kind)
	after.SetNamespace(before.GetNamespace())
	after.SetName(before.GetName())
	if err := r.cluster.Patch(r.ctx, after, client.RawPatch(types.MergePatchType, text), client.FieldOwner(manager)); err != nil {
		return err //nolint:wrapcheck // as above
	}
	_, err = r.takeOver(s.ref)
	return err
}

// takeOver has the operator own by applying what earlier versions of it wrote otherwise, so that fields can be dropped.
func (r *actionClient) takeOver(what ref) (sight, error) {
	live, err := r.find(r.ctx, what)
	if err != nil || live == nil {
		return sight{}, err
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(manager), manager)
	if err != nil || patch == nil {
		return sightOf(live), err
	}
	err = r.cluster.Patch(r.ctx, live, client.RawPatch(types.JSONPatchType, patch))
	return sightOf(live), err
}

// handOver keeps the number of pods when it is left to an autoscaler: a field that nobody owns is set to its default, and
// a busy collector would lose its pods until the autoscaler comes to it.
func (r *actionClient) handOver(s *step, before client.Object, seen sight) error {
	if _, sets, _ := unstructured.NestedFieldNoCopy(s.object.Object, "spec", "replicas"); sets || !seen.replicas {
		return nil
	}
	live := objectOf(s.ref.kind)
	if err := r.live.Get(r.ctx, client.ObjectKeyFromObject(before), live); err != nil {
		return err //nolint:wrapcheck // the caller looks at it first
	}
	var replicas *int32
	switch workload := live.(type) {
	case *appsv1.Deployment:
		replicas = workload.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = workload.Spec.Replicas
	}
	if replicas == nil {
		return nil
	}
	part := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(*replicas)}}}
	part.SetGroupVersionKind(s.ref.kind)
	part.SetNamespace(before.GetNamespace())
	part.SetName(before.GetName())
	part.SetUID(before.GetUID())
	_, err := r.send(s.ref, part, handover)
	return err
}
