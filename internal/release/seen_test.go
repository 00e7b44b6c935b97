package release

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func applied(fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}, Time: &metav1.Time{Time: time.Unix(1, 0)},
	}
}

func secretWith(data string, entries ...metav1.ManagedFieldsEntry) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: entries}, Data: map[string][]byte{"a": []byte(data)},
	}
}

func TestASightTellsWhatTheOperatorApplied(t *testing.T) {
	inOrder := sightOf(secretWith("x", applied(`{"f:data":{}}`)))
	rival := metav1.ManagedFieldsEntry{
		Manager: "rival", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(2, 0)},
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{}}`)},
	}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		same   bool
	}{
		"somebody else's field is none of it":          {secretWith("x", applied(`{"f:data":{}}`), rival), true},
		"a field that somebody has taken over is":      {secretWith("x", applied(`{}`), rival), false},
		"data under the operator's own name is":        {secretWith("y", applied(`{"f:data":{}}`)), false},
		"what nobody has applied has nothing in order": {secretWith("x", rival), false},
	} {
		if got := sightOf(test.secret).digest == inOrder.digest; got != test.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
	if editor := sightOf(secretWith("x", applied(`{}`), rival)).editor; editor != "rival" {
		t.Errorf("editor %q", editor)
	}
	update := applied(`{"f:data":{}}`)
	update.Operation = metav1.ManagedFieldsOperationUpdate
	if !sightOf(secretWith("x", update)).legacy || inOrder.legacy {
		t.Error("what an earlier version has written is to be taken over, and nothing else")
	}
}

func TestStripKeepsTheSightAndNoContent(t *testing.T) {
	whole := secretWith("hunter2", applied(`{"f:data":{}}`))
	want := sightOf(whole)
	want.data = digestOfData(whole)
	for range 2 { // informers can do it again
		kept, err := Strip(whole)
		if err != nil {
			t.Fatal(err)
		}
		secret, ok := kept.(*corev1.Secret)
		if !ok || secret.Data != nil || secret.ManagedFields != nil || sightOf(secret) != want || DataDigest(secret) == "" {
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
	kept, _ := Strip(deployment)
	if stripped, ok := kept.(*appsv1.Deployment); !ok || *stripped.Spec.Replicas != 3 || stripped.Spec.Paused {
		t.Errorf("kept %+v", kept)
	}
}
