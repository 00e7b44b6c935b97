package inventory

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/managedfields"
)

func applied(fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: managedfields.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{Time: time.Unix(1, 0)},
	}
}

func secretWith(data, hash string, entries ...metav1.ManagedFieldsEntry) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: entries, Annotations: map[string]string{AppliedAnnotation: hash}},
		Data:       map[string][]byte{"a": []byte(data)},
	}
}

func TestADigestTellsWhatTheOperatorApplied(t *testing.T) {
	inOrder := Of(secretWith("x", "1", applied(`{"f:data":{}}`)))
	rival := metav1.ManagedFieldsEntry{
		Manager: "rival", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(2, 0)},
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`),
	}
	immutable := secretWith("y", "1", applied(`{"f:data":{}}`))
	immutable.Immutable = new(true)
	if Of(immutable).Digest == "" || inOrder.Hash != "1" {
		t.Errorf("digest %q, hash %q", Of(immutable).Digest, inOrder.Hash)
	}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		same   bool
	}{
		"somebody else's field is none of it":           {secretWith("x", "1", applied(`{"f:data":{}}`), rival), true},
		"a field that somebody has taken over is":       {secretWith("x", "1", applied(`{}`), rival), false},
		"data under the operator's own name is":         {secretWith("y", "1", applied(`{"f:data":{}}`)), false},
		"another object applied in the same second is":  {secretWith("x", "2", applied(`{"f:data":{}}`)), false},
		"what nobody has applied has nothing in order":  {secretWith("x", "1", rival), false},
		"a space in the annotation changes only itself": {secretWith("x", "1 ", applied(`{"f:data":{}}`)), true},
	} {
		if got := Of(test.secret).Digest == inOrder.Digest; got != test.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
	if editor := Of(secretWith("x", "1", applied(`{}`), rival)).Editor; editor != "rival" {
		t.Errorf("editor %q", editor)
	}
}

func TestOnlySpecReplicasIsTheNumberOfPods(t *testing.T) {
	for fields, want := range map[string]bool{
		`{"f:spec":{"f:replicas":{}}}`:                                  true,
		`{"f:spec":{"f:template":{}}}`:                                  false,
		`{"f:metadata":{"f:annotations":{"f:replicas":{}}}}`:            false,
		`{"f:spec":{"f:template":{"f:spec":{"f:replicas":{}}}}}`:        false,
		`{"f:spec":{"f:selector":{"f:matchLabels":{"f:replicas":{}}}}}`: false,
		`not JSON`: false,
	} {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{applied(fields)}}}
		if got := Of(deployment).OwnsReplicas; got != want {
			t.Errorf("%s: owns spec.replicas %t", fields, got)
		}
	}
}

func TestStripKeepsWhatIsKnownAndNoContent(t *testing.T) {
	whole := secretWith("hunter2", "1", applied(`{"f:data":{}}`))
	want := Of(whole).Digest
	for range 2 { // informers can do it again
		kept, err := Strip(whole)
		if err != nil {
			t.Fatal(err)
		}
		secret, ok := kept.(*corev1.Secret)
		if !ok || secret.Data != nil || secret.ManagedFields != nil || Of(secret).Digest != want || Of(secret).Hash != "1" || DataDigest(secret) == "" {
			t.Fatalf("kept %+v", kept)
		}
		whole = secret
	}
	digests := map[string]bool{}
	for _, configMap := range []corev1.ConfigMap{
		{Data: map[string]string{"a": "hunter2"}}, {Data: map[string]string{"a": "hunter3"}}, {Data: map[string]string{"b": "hunter2"}},
		{Data: map[string]string{"a": "hunter2"}, BinaryData: map[string][]byte{"b": []byte("hunter2")}},
	} {
		kept, _ := Strip(&configMap)
		stripped, ok := kept.(*corev1.ConfigMap)
		if !ok || stripped.Data != nil || stripped.BinaryData != nil || digests[DataDigest(stripped)] {
			t.Errorf("kept %+v", kept)
		}
		digests[DataDigest(stripped)] = true
	}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Paused: true}}
	deployment.Spec.Template.Spec = corev1.PodSpec{
		ServiceAccountName: "c", Containers: []corev1.Container{{Name: "a"}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}},
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}},
			}}}},
		},
	}
	kept, _ := Strip(deployment)
	stripped, ok := kept.(*appsv1.Deployment)
	if !ok || *stripped.Spec.Replicas != 3 || stripped.Spec.Paused || stripped.Spec.Template.Spec.Containers != nil {
		t.Errorf("kept %+v", kept)
	}
	uses := []string{useOf("PersistentVolumeClaim/d"), useOf("Secret/s"), useOf("ServiceAccount/c")}
	if got := strings.Fields(Of(stripped).Uses); !slices.Equal(got, slices.Sorted(slices.Values(uses))) {
		t.Errorf("uses %q, want %q", got, uses)
	}
}

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

func TestOthersOwnNothingOfWhatTheOperatorApplied(t *testing.T) {
	own := applied(`{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}}},"f:replicas":{}}}`)
	entryOf := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const label = `{"f:metadata":{"f:labels":{"f:a":{}}}}`
	for name, row := range map[string]struct {
		rival metav1.ManagedFieldsEntry
		want  string
	}{
		"a field":                          {entryOf("rival", "", label), ""},
		"a field, in the operator's name":  {entryOf(managedfields.Manager, "", label), ""},
		"a field, beside another one":      {entryOf("rival", "", `{"f:metadata":{"f:labels":{"f:a":{},"f:b":{}}}}`), `{"f:metadata":{"f:labels":{"f:b":{}}}}`},
		"a field of its own stays":         {entryOf("rival", "", `{"f:spec":{"f:ports":{"k:{\"port\":1}":{"f:nodePort":{}}}}}`), "all"},
		"an item of its own stays":         {entryOf("rival", "", `{"f:spec":{"f:ports":{"k:{\"port\":2}":{".":{}}}}}`), "all"},
		"the number of pods stays":         {entryOf("autoscaler", "", `{"f:spec":{"f:replicas":{}}}`), "all"},
		"what a subresource wrote stays":   {entryOf("rival", "status", label), "all"},
		"what waits for an autoscaler too": {entryOf(managedfields.Handover, "", label), "all"},
		"what cannot be read stays":        {entryOf("rival", "", `{"f:`), "all"},
	} {
		service := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{own, row.rival}}}
		left, isLess := managedfields.WithoutCoOwners(service.ManagedFields)
		got := ""
		if len(left) > 1 {
			got = left[1].FieldsV1.GetRawString()
		}
		if row.want == "all" {
			row.want = row.rival.FieldsV1.GetRawString()
		}
		if got != row.want || isLess != (got != row.rival.FieldsV1.GetRawString()) {
			t.Errorf("%s: left %q, less is %t", name, got, isLess)
		}
		if again, isLessAgain := managedfields.WithoutCoOwners(left); isLessAgain || len(again) != len(left) {
			t.Errorf("%s: it is less once more", name)
		}
		kept, _ := Strip(service)
		if stripped, ok := kept.(*metav1.PartialObjectMetadata); !ok || stripped.ManagedFields != nil || Of(stripped).CoOwned != isLess {
			t.Errorf("%s: kept %+v", name, kept)
		}
	}
}

func TestAWorkloadServesAlsoWithPodsThatAreToStayOld(t *testing.T) {
	set := &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{AvailableReplicas: 1}}
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	if !Of(set).Serves {
		t.Error("a StatefulSet with a partition does not serve")
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
			service: metav1.ObjectMeta{Annotations: map[string]string{AppliedAnnotation: "0"}},
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
