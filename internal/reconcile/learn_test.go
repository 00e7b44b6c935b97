package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
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

// The API server keeps the resource version of an object that an apply does not change. So what the cache does not show yet was no drift.
func TestWhatIsAppliedAgainBecauseTheCacheIsLateIsNoRepair(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	content := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	content.SetName("c")
	object, err := render.NewObject(content)
	if err != nil {
		t.Fatal(err)
	}
	before := live.Object{UID: "1", Version: "7", Hash: "old"}
	for name, row := range map[string]struct {
		version  string
		isRepair bool
	}{
		"as it was applied":                 {"8", false},
		"with what another client did, too": {"9", true},
	} {
		known := live.Applied(live.Object{UID: "1", Version: "8", Hash: object.Hash}, noon.Add(-2*time.Second), nil, false)
		known.Repairs = 2
		r := &reconcile{memory: memory{expected: live.Expectations{object.Ref: known}}, found: map[live.Reference]live.Object{object.Ref: before}}
		r.Clients = &Clients{now: func() time.Time { return noon }}
		step := apply.Step{Action: apply.Change, Ref: object.Ref, Object: &object}
		isRepair := r.note(step, &live.Object{UID: "1", Version: row.version}, true)
		if repairs := r.expected[object.Ref].Repairs; isRepair != row.isRepair || repairs != map[bool]int{false: 2, true: 3}[isRepair] {
			t.Errorf("%s: repair %t, %d repairs", name, isRepair, repairs)
		}
	}
}
