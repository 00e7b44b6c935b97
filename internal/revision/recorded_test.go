package revision

import (
	"context"
	"maps"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/render"
)

func TestARecordedRevisionHasOnlyKindsOfTheClusterAndOfTheChart(t *testing.T) {
	scaled := schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	const manifest = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" +
		"---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: b}\n" +
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: of-another-chart}\n"
	for name, row := range map[string]struct {
		served []schema.GroupVersionKind
		want   int
	}{
		"the cluster serves the kind": {[]schema.GroupVersionKind{scaled}, 2},
		"the kind has gone meanwhile": {nil, 1},
	} {
		s := sourceOf(t, "apiVersion: v1\nkind: Secret\n",
			`{{ if .Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject" }}`+"\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n")
		mapper, _ := s.Mapper.(*meta.DefaultRESTMapper)
		mapper.Add(scaled, meta.RESTScopeNamespace) // for as long as the operator runs
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
		s.Served = func(context.Context) (*render.Served, error) {
			return &render.Served{Capabilities: chartutil.DefaultCapabilities, Kinds: row.served}, nil
		}
		found, err := s.Recorded(t.Context(), gateway(), record.Content{Manifest: manifest, Generation: 7}, nil)
		if err != nil || len(found.Objects) != row.want || found.Deployed(2).Generation != 7 {
			t.Errorf("%s: %d objects of generation %d, %v", name, len(found.Objects), found.Deployed(2).Generation, err)
		}
	}
}

func TestARecordedRevisionIsThere(t *testing.T) {
	reference := func(kind, name string) inventory.Reference {
		version := corev1.SchemeGroupVersion
		if kind == "Deployment" || kind == "StatefulSet" {
			version = appsv1.SchemeGroupVersion
		}
		return inventory.NewReference(version.WithKind(kind), name)
	}
	revisionOf := func(objects map[string]string) *Revision {
		r := &Revision{}
		for kind, hash := range objects {
			r.Objects = append(r.Objects, render.Object{
				Ref: reference(kind, "c"), Hash: hash, Stage: render.StageOf(kind), Content: &unstructured.Unstructured{Object: map[string]any{}},
			})
		}
		return r
	}
	later := revisionOf(map[string]string{"StatefulSet": "2", "Service": "1", "Secret": "2"})
	before := revisionOf(map[string]string{"Deployment": "1", "Service": "1", "Secret": "1"})
	for name, row := range map[string]struct {
		found  map[string]string
		before *Revision
		want   bool
	}{
		"all is there":                           {map[string]string{"StatefulSet": "2", "Service": "1", "Secret": "1"}, nil, true},
		"one is as it was before":                {map[string]string{"StatefulSet": "1", "Service": "1", "Secret": "2"}, before, false},
		"one is missing":                         {map[string]string{"Service": "1", "Secret": "2"}, before, false},
		"somebody has changed what both have":    {map[string]string{"StatefulSet": "2", "Service": "9"}, before, true},
		"somebody has deleted what both have":    {map[string]string{"StatefulSet": "2"}, before, true},
		"nobody knows what both have":            {map[string]string{"StatefulSet": "2"}, nil, false},
		"what it replaces is still there":        {map[string]string{"StatefulSet": "2", "Service": "1", "Deployment": "1"}, nil, true},
		"somebody has deleted its Secret":        {map[string]string{"StatefulSet": "2", "Service": "1"}, before, true},
		"it brings nothing that tells of itself": {map[string]string{"Deployment": "1", "Service": "1"}, nil, false},
	} {
		found := map[inventory.Reference]inventory.Object{}
		for kind, hash := range row.found {
			found[reference(kind, "c")] = inventory.Object{Hash: hash}
		}
		if got, err := later.isThere(found, row.before); err != nil || got != row.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	if isThere, err := (&Revision{Want: plan.Want{}}).isThere(nil, nil); err != nil || isThere {
		t.Errorf("a revision without a workload: %t, %v", isThere, err)
	}
}

func TestWhatARecordedRevisionRestores(t *testing.T) {
	object := func(kind, hash string) (inventory.Reference, inventory.Object) {
		version := corev1.SchemeGroupVersion
		if kind == "Deployment" {
			version = appsv1.SchemeGroupVersion
		}
		return inventory.NewReference(version.WithKind(kind), "c"), inventory.Object{UID: types.UID(kind), Hash: hash, Digest: hash}
	}
	recorded := &Revision{Want: plan.Want{Hash: strings.Repeat("r", partLength)}}
	for _, kind := range []string{"Service", "Deployment"} {
		what, _ := object(kind, "1")
		recorded.Objects = append(recorded.Objects, render.Object{Ref: what, Hash: "1", Stage: render.StageOf(kind)})
	}
	deployed := func(hash string) Deployed {
		return Deployed{Revision: 2, Digest: unknown + strings.Repeat(hash, partLength) + unseen}
	}
	as := func(hash string) func(map[inventory.Reference]inventory.Object) Deployed {
		return func(map[inventory.Reference]inventory.Object) Deployed { return deployed(hash) }
	}
	followed := func(found map[inventory.Reference]inventory.Object) Deployed {
		later := deployed("l")
		later.Serves(found)
		return deployed("r").Followed(later)
	}
	for name, row := range map[string]struct {
		deployed  func(found map[inventory.Reference]inventory.Object) Deployed
		have      map[string]drift.State
		disturbed bool
		bare      bool // there is no record
		want      int  // objects, or -1 for an error
	}{
		"all of the deployed revision": {
			deployed: as("r"),
			have:     map[string]drift.State{"Service": drift.Unknown, "Deployment": drift.Unknown}, want: 2,
		},
		"nothing if the record has another hash, and all is there": {
			deployed: as("x"),
			have:     map[string]drift.State{"Service": drift.Unknown, "Deployment": drift.Unknown}, want: 0,
		},
		"an error if it has another hash, and something is not there": {
			deployed: as("x"),
			have:     map[string]drift.State{"Deployment": drift.Unknown}, want: -1,
		},
		"nothing without a record, as long as nothing has gone": {
			deployed: as("x"), bare: true,
			have: map[string]drift.State{"Deployment": drift.Unknown}, want: 0,
		},
		"an error without a record, and what pods may mount has gone": {
			deployed: as("x"), bare: true,
			have: map[string]drift.State{"Secret": drift.Lost, "Deployment": drift.InOrder}, want: -1,
		},
		"an error if it has another hash, and something goes": {
			deployed: as("x"),
			have:     map[string]drift.State{"Service": drift.Deleting, "Deployment": drift.Unknown}, want: -1,
		},
		"an error if it has another hash, and somebody has changed something": {
			deployed: as("x"),
			have:     map[string]drift.State{"Service": drift.Changed, "Deployment": drift.InOrder}, want: -1,
		},
		"an error if it has another hash, and a change is half done": {
			deployed: as("x"),
			have:     map[string]drift.State{"Service": drift.InOrder, "Deployment": drift.InOrder}, disturbed: true, want: -1,
		},
		"nothing while a later revision serves that is not recorded": {
			deployed: followed,
			have:     map[string]drift.State{"Service": drift.Unknown, "Deployment": drift.Unknown}, want: 0,
		},
		"nothing if the answer to a creation of a change after that was lost": {
			deployed: followed,
			have:     map[string]drift.State{"ConfigMap": drift.Lost, "Service": drift.InOrder, "Deployment": drift.InOrder}, want: 0,
		},
		"nothing if a mount has gone that nobody uses": {
			deployed: followed,
			have:     map[string]drift.State{"Secret": drift.Lost, "Service": drift.InOrder, "Deployment": drift.InOrder}, want: 0,
		},
		"all if somebody has deleted something of that": {
			deployed: func(found map[inventory.Reference]inventory.Object) Deployed {
				what, lost := object("Service", "1")
				with := maps.Clone(found)
				with[what] = lost
				return followed(with)
			},
			have: map[string]drift.State{"Service": drift.Lost, "Deployment": drift.InOrder}, want: 2,
		},
		"all if somebody has changed something of that": {
			deployed: followed,
			have:     map[string]drift.State{"Service": drift.Changed, "Deployment": drift.Unknown}, want: 2,
		},
		"all if what serves is not as it was then": {
			deployed: func(map[inventory.Reference]inventory.Object) Deployed { return followed(nil) },
			have:     map[string]drift.State{"Service": drift.Unknown, "Deployment": drift.Unknown}, want: 2,
		},
	} {
		found, view := map[inventory.Reference]inventory.Object{}, map[inventory.Reference]drift.Seen{}
		for kind, state := range row.have {
			what, live := object(kind, "1")
			if state != drift.Lost {
				found[what] = live
			}
			view[what] = drift.Seen{Object: live, State: state, Pending: kind == "ConfigMap"}
		}
		is := row.deployed(found)
		s := plan.Situation{Deployed: is.Hash(), Disturbed: row.disturbed, View: drift.View{Objects: view}}
		of := recorded
		if row.bare {
			of = &Revision{}
		}
		want, _, err := of.Restored(is, found, s)
		if (err != nil) != (row.want < 0) || err == nil && (len(want.Objects) != row.want || want.Hash != is.Hash()) {
			t.Errorf("%s: %d objects of %s, %v", name, len(want.Objects), want.Hash, err)
		}
	}
}
