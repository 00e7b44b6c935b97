package claims

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/render"
)

func TestClaimsThatTheNextStatefulSetIsToOwn(t *testing.T) {
	const keep, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	of := func(name string, owners ...types.UID) corev1.PersistentVolumeClaim {
		claim := claimOf(name + "=1Gi")
		for _, owner := range owners {
			claim.OwnerReferences = append(claim.OwnerReferences, metav1.OwnerReference{UID: owner})
		}
		return claim
	}
	others := of("queue-c-4", "1")
	others.Labels = map[string]string{v1alpha1.CollectorLabel: "queue-c"}
	for name, row := range map[string]struct {
		claim  corev1.PersistentVolumeClaim
		policy appsv1.PersistentVolumeClaimRetentionPolicyType
		isIt   bool
	}{
		"one that the StatefulSet owns":               {of("queue-c-4", "1"), remove, true},
		"also beside another owner":                   {of("queue-c-4", "2", "1"), remove, true},
		"none if the spec says that claims stay":      {of("queue-c-4", "1"), keep, false},
		"none if it does not say":                     {of("queue-c-4", "1"), "", false},
		"none of a user's":                            {of("queue-c-4"), remove, false},
		"none that goes with something else":          {of("queue-c-4", "2"), remove, false},
		"none of a template that goes":                {of("log-c-4", "1"), remove, false},
		"none that is named otherwise":                {of("queue-c-other", "1"), remove, false},
		"none whose label is that of another's claim": {others, remove, false},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := setWith("", "queue=2Gi")
			if row.policy != "" {
				wanted.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: row.policy}
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
			if err != nil {
				t.Fatal(err)
			}
			found := apply.Immutable{
				Live: setWith("1", "queue=1Gi", "log=1Gi"), Wanted: wanted, Claims: []corev1.PersistentVolumeClaim{row.claim},
			}
			_, old, err := Followed(&render.Object{Ref: theSet, Content: &unstructured.Unstructured{Object: content}}, "1", found, nil)
			if err != nil || old == nil {
				t.Fatalf("replaces %v, error %v", old, err)
			}
			if isIt := slices.Contains(old.Owned, row.claim.UID); isIt != row.isIt || len(old.Owned) > 1 {
				t.Errorf("the next StatefulSet owns %q", old.Owned)
			}
		})
	}
}
