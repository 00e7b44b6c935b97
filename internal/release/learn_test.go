package release

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// The live object has what was applied. With another hash, it would count as an object of a refused change.
func TestAnObjectOfTheDeployedRevisionIsKnownAsItWasApplied(t *testing.T) {
	object := func(kind string, stage render.Stage) render.Object {
		content := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": kind, "spec": map[string]any{"replicas": int64(3), "template": map[string]any{}},
		}}
		content.SetName("c")
		rendered, err := render.NewObject(content)
		if err != nil {
			t.Fatal(err)
		}
		rendered.Stage = stage
		return rendered
	}
	job, set := object("Job", render.Checks), object("StatefulSet", render.Workloads)
	checked, err := set.Accepted(job.Ref.Name())
	if err != nil {
		t.Fatal(err)
	}
	without, err := checked.WithoutReplicas()
	if err != nil {
		t.Fatal(err)
	}
	r := &reconcile{learned: learned{accepted: &plan.Accepted{Recorded: plan.Want{Objects: []render.Object{job, set}}}}}
	if got, err := r.applied(set.Ref); err != nil || got.Hash != checked.Hash || got.Content.GetAnnotations()[v1alpha1.CheckedAnnotation] != "c" {
		t.Errorf("with a check: %+v, error %v, want hash %s", got, err, checked.Hash)
	}
	r.scaled = scaled{by: "an autoscaler", what: set.Ref}
	if got, err := r.applied(set.Ref); err != nil || got.Hash != without.Hash {
		t.Errorf("with another client's autoscaler: %+v, error %v, want hash %s", got, err, without.Hash)
	}
}
