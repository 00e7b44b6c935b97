package live

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAWorkloadServesWhenAllItsPodsAreAvailableAndThereIsOne(t *testing.T) {
	status := appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	for name, row := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"all are available":             {func(*appsv1.Deployment) {}, true},
		"its controller has not begun":  {func(d *appsv1.Deployment) { d.Generation = 3 }, false},
		"one is not updated":            {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, false},
		"one is not available":          {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }, false},
		"it is scaled to nothing":       {func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }, false},
		"it has one pod more than that": {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 3 }, true},
	} {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}, Status: status}
		row.change(deployment)
		if got := Of(deployment).Serves; got != row.want {
			t.Errorf("%s: serves %t", name, got)
		}
	}
	set := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1}}
	if !Of(set).Serves {
		t.Error("a DaemonSet with all its pods does not serve")
	}
	if Of(&appsv1.DaemonSet{}).Serves {
		t.Error("a DaemonSet without a node serves")
	}
	if !Of(&appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{UpdatedReplicas: 1, AvailableReplicas: 1}}).Serves {
		t.Error("a StatefulSet with its pod does not serve")
	}
}

func TestWhatPodsReferToIsThatOfTheNewestWorkload(t *testing.T) {
	created := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	deployment, set := NewReference(appsv1.SchemeGroupVersion.WithKind("Deployment"), "c"), NewReference(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "c")
	for range 20 { // the order of a map is another one each time
		got := Running(map[Reference]Object{
			deployment: {UID: "2", Created: created, References: "old"}, set: {UID: "1", Created: created.Add(time.Minute), References: "new"},
		})
		if got != "new" {
			t.Fatalf("got %q, want that of the StatefulSet, which takes the place of the Deployment", got)
		}
	}
}

func TestAWorkloadServesAlsoWithPodsThatAreToStayOld(t *testing.T) {
	set := &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{AvailableReplicas: 1}}
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	if !Of(set).Serves {
		t.Error("a StatefulSet with a partition does not serve")
	}
	set.Status.CurrentRevision, set.Status.UpdateRevision = "c-1", "c-2"
	if Of(set).Partition != 1 {
		t.Error("a StatefulSet makes no pod of an earlier revision below its partition")
	}
	set.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(0))
	if Of(set).Serves {
		t.Error("a StatefulSet serves although its pod is not updated yet")
	}
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	if !Of(set).Serves {
		t.Error("a StatefulSet whose pods are updated as somebody deletes them does not serve")
	}
	daemons := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 1, NumberAvailable: 1}}
	if Of(daemons).Serves {
		t.Error("a DaemonSet serves although its pod is not updated yet")
	}
	daemons.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	if !Of(daemons).Serves {
		t.Error("a DaemonSet whose pods are updated as somebody deletes them does not serve")
	}
}

func TestAConflictSaysWhatToDo(t *testing.T) {
	collector := &metav1.ObjectMeta{Name: "c", UID: "1"}
	what := NewReference(corev1.SchemeGroupVersion.WithKind("Service"), "c")
	for name, row := range map[string]struct {
		service metav1.ObjectMeta
		want    string
	}{
		"it is the Collector's": {
			service: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Collector", Name: "c", UID: "1", Controller: new(true)}}},
		},
		"it is somebody else's": {
			service: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Proxy", Name: "p", UID: "2", Controller: new(true)}}},
			want:    `Service "c" exists and belongs to Proxy/p; delete or rename it, or rename the Collector`,
		},
		"it has lost its owner": {
			service: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AppliedAnnotation: "0"}},
			want: `Service "c" exists and has no owner; the operator has made it, so add the Collector to its ownerReferences again, ` +
				"or delete it",
		},
	} {
		got := ""
		if err := Verify(&corev1.Service{ObjectMeta: row.service}, &corev1.Pod{ObjectMeta: *collector}, what); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
