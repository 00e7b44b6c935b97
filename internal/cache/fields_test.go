package cache

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
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
		ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: entries, Annotations: map[string]string{v1alpha1.AppliedAnnotation: hash}},
		Data:       map[string][]byte{"a": []byte(data)},
	}
}

func TestADigestTellsWhatTheOperatorApplied(t *testing.T) {
	inOrder := FieldsOf(secretWith("x", "1", applied(`{"f:data":{}}`)))
	rival := metav1.ManagedFieldsEntry{
		Manager: "rival", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(2, 0)},
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`),
	}
	immutable := secretWith("y", "1", applied(`{"f:data":{}}`))
	immutable.Immutable = new(true)
	if FieldsOf(immutable).Digest == "" || inOrder.Hash != "1" {
		t.Errorf("digest %q, hash %q", FieldsOf(immutable).Digest, inOrder.Hash)
	}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		same   bool
	}{
		"another client's field is none of it":          {secretWith("x", "1", applied(`{"f:data":{}}`), rival), true},
		"a field that another client has taken over is": {secretWith("x", "1", applied(`{}`), rival), false},
		"data under the operator's own name is":         {secretWith("y", "1", applied(`{"f:data":{}}`)), false},
		"another object applied in the same second is":  {secretWith("x", "2", applied(`{"f:data":{}}`)), false},
		"what was never applied has nothing in order":   {secretWith("x", "1", rival), false},
		"a space in the annotation changes only itself": {secretWith("x", "1 ", applied(`{"f:data":{}}`)), true},
	} {
		if got := FieldsOf(test.secret).Digest == inOrder.Digest; got != test.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
	if editor := FieldsOf(secretWith("x", "1", applied(`{}`), rival)).Editor; editor != "rival" {
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
		if got := FieldsOf(deployment).Replicas; got != want {
			t.Errorf("%s: owns spec.replicas %t", fields, got)
		}
	}
}

func TestStripKeepsWhatIsKnownAndNoContent(t *testing.T) {
	whole := secretWith("hunter2", "1", applied(`{"f:data":{}}`))
	want := FieldsOf(whole).Digest
	for range 2 { // informers can do it again
		kept, err := Strip(whole)
		if err != nil {
			t.Fatal(err)
		}
		secret, ok := kept.(*corev1.Secret)
		if !ok || secret.Data != nil || secret.ManagedFields != nil || FieldsOf(secret).Digest != want || FieldsOf(secret).Hash != "1" || DataDigest(secret) == "" {
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
	uses := []string{UseOf("PersistentVolumeClaim/d"), UseOf("Secret/s"), UseOf("ServiceAccount/c")}
	if got := strings.Fields(stripped.Annotations[UsesAnnotation]); !slices.Equal(got, slices.Sorted(slices.Values(uses))) {
		t.Errorf("uses %q, want %q", got, uses)
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
		if stripped, ok := kept.(*metav1.PartialObjectMetadata); !ok || stripped.ManagedFields != nil || FieldsOf(stripped).CoOwned != isLess {
			t.Errorf("%s: kept %+v", name, kept)
		}
	}
}
