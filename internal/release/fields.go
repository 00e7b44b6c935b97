package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// replace replaces the lists of an object. Applying merges them by keys: where somebody else has edited a key, the result
// can be invalid, such as two ports of one name. A Secret is deleted, to be created anew: nobody can change an immutable one.
func (r *actionClient) replace(s *step, before client.Object) error {
	if s.ref.kind().Kind == "Secret" {
		return r.remove(s.ref, before)
	}
	text, err := json.Marshal(withMetadata(s.object, "uid", string(before.GetUID())).Object)
	if err != nil {
		return err //nolint:wrapcheck // the caller has another error to tell
	}
	after := objectOf(s.ref.kind())
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
	live := objectOf(s.ref.kind())
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
	part := partOf(s.ref, before)
	part.Object["spec"] = map[string]any{"replicas": int64(*replicas)}
	_, err := r.send(s.ref, part, handover)
	return err
}

// take has the informer cache hold what a Collector has that has moved here, except what is applied now. The workload is the
// last, because without one in the informer cache the Collector counts as moved.
func (r *actionClient) take() error {
	if !r.moved {
		return nil
	}
	wanted := r.wanted()
	byStage := func(a, b ref) int { return stageOf[a.kind().Kind] - stageOf[b.kind().Kind] }
	for _, what := range slices.SortedFunc(maps.Keys(r.observed), byStage) {
		if wanted[what] {
			continue
		}
		part := partOf(what, r.observed[what])
		part.SetLabels(map[string]string{v1alpha1.OperatorLabel: r.Shard})
		if _, err := r.send(what, part, handover); err != nil {
			return fmt.Errorf("label %s: %w", what, err)
		}
	}
	return nil
}

// partOf returns what names an object, for an apply of some of its fields.
func partOf(what ref, object client.Object) *unstructured.Unstructured {
	part := &unstructured.Unstructured{Object: map[string]any{}}
	part.SetGroupVersionKind(what.kind())
	part.SetNamespace(object.GetNamespace())
	part.SetName(what.name)
	part.SetUID(object.GetUID())
	return part
}
