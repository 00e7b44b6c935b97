package foretell

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAUserLearnsWhichClaimsAreDeleted(t *testing.T) {
	owned := metav1.ObjectMeta{Namespace: "acme", Name: "gateway", OwnerReferences: []metav1.OwnerReference{{UID: "1", Controller: new(true)}}}
	set := func(policy appsv1.PersistentVolumeClaimRetentionPolicyType) *appsv1.StatefulSet {
		made := &appsv1.StatefulSet{ObjectMeta: owned}
		made.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "queue"}}}
		made.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy}
		return made
	}
	foreign := set(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
	foreign.OwnerReferences = nil
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: owned}
	claim.Name = "gateway-spool"
	spool := []v1alpha1.VolumeClaimTemplate{{}}
	spool[0].Metadata.Name = "spool"
	var sets, shares v1alpha1.CollectorSpec
	sets.Mode, shares.VolumeClaims = v1alpha1.ModeStatefulSet, spool
	for name, row := range map[string]struct {
		before, after v1alpha1.CollectorSpec
		object        client.Object
		want          []string
	}{
		"of a StatefulSet that goes with its claims": {
			sets, v1alpha1.CollectorSpec{}, set(appsv1.DeletePersistentVolumeClaimRetentionPolicyType), []string{"claims of queue are deleted, with their data"},
		},
		"none of one that leaves them": {
			sets, v1alpha1.CollectorSpec{}, set(appsv1.RetainPersistentVolumeClaimRetentionPolicyType), []string{"claims of queue stay, and no pod mounts them"},
		},
		"none of one that stays":      {sets, sets, set(appsv1.DeletePersistentVolumeClaimRetentionPolicyType), nil},
		"none of another owner":       {sets, v1alpha1.CollectorSpec{}, foreign, nil},
		"one that pods no more share": {shares, v1alpha1.CollectorSpec{}, claim, []string{`PersistentVolumeClaim "gateway-spool" is deleted, with its data`}},
		"none that pods still share":  {shares, shares, claim, nil},
		"none that is not there":      {shares, v1alpha1.CollectorSpec{}, set(""), nil},
	} {
		before, after := &v1alpha1.Collector{Spec: row.before}, &v1alpha1.Collector{Spec: row.after}
		before.Namespace, before.Name, before.UID = "acme", "gateway", "1"
		got, err := lost(t.Context(), fake.NewClientBuilder().WithObjects(row.object).Build(), before, after)
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, row.want)
		}
	}
}
