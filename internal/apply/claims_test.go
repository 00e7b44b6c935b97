package apply

import (
	"context"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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
