package history

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
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
			return &render.Served{Capabilities: helm.DefaultCapabilities, Kinds: row.served}, nil
		}
		found, err := s.Recorded(t.Context(), gateway(), Content{Manifest: manifest, Generation: 7}, nil)
		if err != nil || len(found.Objects) != row.want || found.Deployed(2).Generation != 7 {
			t.Errorf("%s: %d objects of generation %d, %v", name, len(found.Objects), found.Deployed(2).Generation, err)
		}
	}
}

func TestWhatARecordedRevisionRestores(t *testing.T) {
	object := func(kind, hash string) (live.Reference, live.Object) {
		version := corev1.SchemeGroupVersion
		if kind == "Deployment" {
			version = appsv1.SchemeGroupVersion
		}
		return live.NewReference(version.WithKind(kind), "c"), live.Object{UID: types.UID(kind), Hash: hash, Digest: hash}
	}
	recorded := &Revision{Want: plan.Want{Hash: strings.Repeat("r", partLength)}}
	for _, kind := range []string{"Service", "Deployment"} {
		what, _ := object(kind, "1")
		recorded.Objects = append(recorded.Objects, render.Object{Ref: what, Hash: "1", Stage: render.StageOf(kind)})
	}
	deployed := func(hash string) Deployed {
		return Deployed{Revision: 2, Digest: unknown + strings.Repeat(hash, partLength) + unseen}
	}
	for name, row := range map[string]struct {
		deployed string // its hash
		have     map[string]live.State
		begun    bool // another revision
		bare     bool // there is no record
		want     int  // objects, or -1 for an error
	}{
		"all of the deployed revision": {
			deployed: "r",
			have:     map[string]live.State{"Service": live.Unknown, "Deployment": live.Unknown}, want: 2,
		},
		"nothing if the record has another hash, and all is there": {
			deployed: "x",
			have:     map[string]live.State{"Service": live.Unknown, "Deployment": live.Unknown}, want: 0,
		},
		"an error if it has another hash, and something is not there": {
			deployed: "x",
			have:     map[string]live.State{"Deployment": live.Unknown}, want: -1,
		},
		"nothing without a record, as long as nothing has gone": {
			deployed: "x", bare: true,
			have: map[string]live.State{"Deployment": live.Unknown}, want: 0,
		},
		"an error without a record, and what pods may mount has gone": {
			deployed: "x", bare: true,
			have: map[string]live.State{"Secret": live.Lost, "Deployment": live.InOrder}, want: -1,
		},
		"an error if it has another hash, and something goes": {
			deployed: "x",
			have:     map[string]live.State{"Service": live.Deleting, "Deployment": live.Unknown}, want: -1,
		},
		"an error if it has another hash, and another client has changed something": {
			deployed: "x",
			have:     map[string]live.State{"Service": live.Changed, "Deployment": live.InOrder}, want: -1,
		},
		"an error if it has another hash, and another revision has begun": {
			deployed: "x",
			have:     map[string]live.State{"Service": live.InOrder, "Deployment": live.InOrder}, begun: true, want: -1,
		},
	} {
		view := map[live.Reference]live.Seen{}
		for kind, state := range row.have {
			what, current := object(kind, "1")
			view[what] = live.Seen{Object: current, State: state}
		}
		is := deployed(row.deployed)
		s := plan.Situation{Deployed: is.Hash(), Begun: row.begun, View: live.View{Objects: view}}
		of := recorded
		if row.bare {
			of = &Revision{}
		}
		want, _, err := of.Restored(is, s)
		if (err != nil) != (row.want < 0) || err == nil && (len(want.Objects) != row.want || want.Hash != is.Hash()) {
			t.Errorf("%s: %d objects of %s, %v", name, len(want.Objects), want.Hash, err)
		}
	}
}
