package apply

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// A claim that waits for a StorageClass that is not there keeps its pod from starting, also if the template is corrected.
func TestClaimsWithoutAVolumeMakeRoomForThoseOfTheTemplates(t *testing.T) {
	claim := func(name, of, volume string, phase corev1.PersistentVolumeClaimPhase) corev1.PersistentVolumeClaim {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.CollectorLabel: of}}}
		claim.Spec.VolumeName, claim.Status.Phase = volume, phase
		return claim
	}
	cluster := &script{claims: []corev1.PersistentVolumeClaim{
		claim("queue-c-0", "c", "", corev1.ClaimPending), claim("queue-c-1", "c", "pv", corev1.ClaimPending),
		claim("queue-c-2", "c", "", corev1.ClaimBound), claim("queue-c-3", "c", "pv", corev1.ClaimLost), claim("queue-c-4", "", "", corev1.ClaimPending),
		claim("log-c-0", "c", "", corev1.ClaimPending), claim("queue-c", "c", "", corev1.ClaimPending), claim("queue-c-11", "c", "", ""),
	}}
	templates := []any{map[string]any{"metadata": map[string]any{"name": "queue"}}}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"volumeClaimTemplates": templates}}}
	(&Applier{Cluster: cluster}).discard(t.Context(), Step{Ref: refTo("StatefulSet"), Object: &render.Object{Content: set}})
	if want := []string{"discard queue-c-0", "discard queue-c-11"}; !slices.Equal(cluster.asked, want) {
		t.Errorf("asked %q, want %q", cluster.asked, want)
	}
}

func TestClaimsAreTakenFromAStatefulSetBeforeItIsDeletedWithoutThem(t *testing.T) {
	const retained, deleted = "retain claims of StatefulSet/c 1", "delete StatefulSet/c of 1 orphan false dry run false"
	for name, row := range map[string]struct {
		retains bool
		policy  string
		want    []string
	}{
		"if the spec says so":                   {true, "Delete", []string{retained, deleted}},
		"if the mode changes, and it retained":  {false, "Retain", []string{"read StatefulSet/c", retained, deleted}},
		"not if it is to be deleted with these": {false, "Delete", []string{"read StatefulSet/c", deleted}},
	} {
		step, set := stepOf(Delete, "StatefulSet", "1"), &unstructured.Unstructured{Object: map[string]any{}}
		_ = unstructured.SetNestedField(set.Object, row.policy, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
		cluster := &script{live: map[live.Reference]*unstructured.Unstructured{step.Ref: set}}
		step.Retains = row.retains
		_, err := (&Applier{Cluster: cluster}).step(t.Context(), step)
		if err != nil || !slices.Equal(cluster.asked, row.want) {
			t.Errorf("%s: asked %q, error %v, want %q", name, cluster.asked, err, row.want)
		}
	}
}

func TestClaimsGoToTheNextStatefulSet(t *testing.T) {
	claim := func(name string, owners ...metav1.OwnerReference) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "5", OwnerReferences: owners}}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "queue-c-1", errors.New("it has changed"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "c", errors.New("exceeded quota"))
	gives := func(name string) string {
		return "apply PersistentVolumeClaim/" + name + " of " + name + " at 5 by kube8-operator-adopt"
	}
	for name, row := range map[string]struct {
		owned     []types.UID
		refuse    func(request Request, count int) error
		want      []string
		wantOwner types.UID
	}{
		"those that the one before owned, and that nothing controls": {
			owned: []types.UID{"queue-c-0", "queue-c-1", "queue-c-3"}, want: []string{gives("queue-c-1"), gives("queue-c-3")}, wantOwner: "new",
		},
		"none without such claims": {},
		"one that is changed meanwhile is read again": {
			owned: []types.UID{"queue-c-1"}, want: []string{gives("queue-c-1"), gives("queue-c-1")}, wantOwner: "new",
			refuse: func(r Request, count int) error {
				if r.Ref.Name() == "queue-c-1" && count == 1 {
					return conflict
				}
				return nil
			},
		},
		"one that is refused is no error": {
			owned: []types.UID{"queue-c-1"}, want: []string{gives("queue-c-1")}, wantOwner: "new",
			refuse: func(r Request, _ int) error {
				if r.Ref.Name() == "queue-c-1" {
					return forbidden
				}
				return nil
			},
		},
		"also if it is the one before, created again": {
			owned: []types.UID{"queue-c-1"}, want: []string{gives("queue-c-1")}, wantOwner: "restored",
			refuse: func(r Request, _ int) error {
				if r.Ref.Name() == "c" && !r.DryRun {
					return forbidden
				}
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &script{live: map[live.Reference]*unstructured.Unstructured{refTo("StatefulSet"): objectOf("StatefulSet", "old", true)}}
			cluster.claims = []corev1.PersistentVolumeClaim{
				claim("queue-c-0", metav1.OwnerReference{UID: "new", Controller: new(true)}), claim("queue-c-1"), claim("queue-c-2"),
				claim("queue-c-3", metav1.OwnerReference{UID: "users"}),
			}
			var given []string
			cluster.refuse = func(request Request) error {
				if owners := request.Content.GetOwnerReferences(); request.Ref.Kind().Kind == "PersistentVolumeClaim" {
					given = append(given, cluster.asked[len(cluster.asked)-1])
					want := metav1.OwnerReference{APIVersion: "v1", Kind: "StatefulSet", Name: "c", UID: row.wantOwner, Controller: new(true)}
					if len(owners) != 1 || !cmp.Equal(owners[0], want) {
						t.Errorf("owners %v", owners)
					}
				}
				if row.refuse == nil {
					return nil
				}
				return row.refuse(request, len(given))
			}
			step := stepOf(Replace, "StatefulSet", "old")
			step.Old = &Old{Ref: step.Ref, UID: "old", Orphan: true, Owned: row.owned}
			_, err := (&Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false)}).step(t.Context(), step)
			if isRefused := row.wantOwner == "restored"; (err != nil) != isRefused || !slices.Equal(given, row.want) {
				t.Errorf("asked %q, error %v, want %q", given, err, row.want)
			}
		})
	}
}

// claimReader is an API server with claims, which are listed page by page.
type claimReader struct {
	client.Reader
	all []corev1.PersistentVolumeClaim
}

func (r claimReader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options, found := (&client.ListOptions{}).ApplyOptions(opts), list.(*corev1.PersistentVolumeClaimList)
	isOther := func(claim corev1.PersistentVolumeClaim) bool {
		return !options.LabelSelector.Matches(labels.Set(claim.Labels))
	}
	matching := slices.DeleteFunc(slices.Clone(r.all), isOther)
	from, _ := strconv.Atoi(options.Continue)
	found.Items = matching[from:min(len(matching), from+int(options.Limit))]
	if next := from + len(found.Items); next < len(matching) {
		found.Continue = strconv.Itoa(next)
	}
	return nil
}

// A namespace can have any number of claims. A Collector that can be deleted only if others have few would stay for ever.
func TestClaimsOfOtherCollectorsDoNotCount(t *testing.T) {
	reader, collector := claimReader{}, &unstructured.Unstructured{}
	collector.SetName("c")
	for i := range 3000 {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i), Labels: map[string]string{v1alpha1.CollectorLabel: "other"}}}
		switch i {
		case 2000:
			claim.Labels[v1alpha1.CollectorLabel] = "c"
		case 2999:
			claim.Labels = nil
		}
		reader.all = append(reader.all, claim)
	}
	var names []string
	found, err := NewCluster(nil, reader, collector).Claims(t.Context())
	for _, claim := range found {
		names = append(names, claim.Name)
	}
	if want := []string{"2000", "2999"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, error %v, want %q", names, err, want)
	}
}
