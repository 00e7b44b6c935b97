package cache

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Each object here is as large as the API server lets its author make it, in each field that the informer cache has something of.
func TestTheCacheKeepsLittleOfWhatOthersMade(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	metadata := metav1.ObjectMeta{
		Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 253), UID: "7c1c8a2e-0000-0000-0000-000000000000", ResourceVersion: "123456789",
		Labels:      map[string]string{v1alpha1.CollectorLabel: "gateway"},
		Annotations: map[string]string{v1alpha1.CheckedAnnotation: long, v1alpha1.AppliedAnnotation: long, "a": long},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: long, Kind: "Collector", Name: long, UID: types.UID(long), Controller: new(true)},
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: strings.Repeat("m", 128), Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1("{}"), Time: new(metav1.Now()),
		}},
	}
	for i := range 3000 {
		metadata.Finalizers = append(metadata.Finalizers, fmt.Sprintf("example.com/%d%s", i, strings.Repeat("f", 50)))
	}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{postrender.ReferencesAnnotation: long}}}
	for i := range 24000 {
		volume := corev1.Volume{Name: strconv.Itoa(i)}
		volume.Secret = &corev1.SecretVolumeSource{SecretName: fmt.Sprintf("gateway-config-%d", i)}
		pods.Spec.Volumes = append(pods.Spec.Volumes, volume)
	}
	conditions := []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: long, Message: long}, {Type: "Other", Message: long},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: long, Message: long},
	}
	ended := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: long, Message: long}
	rolling := &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	for name, object := range map[string]client.Object{
		"Secret":     &corev1.Secret{ObjectMeta: metadata, Data: map[string][]byte{"a": []byte(long)}},
		"ConfigMap":  &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{"a": long}},
		"Deployment": &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{Template: pods}, Status: appsv1.DeploymentStatus{Conditions: conditions}},
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{
			Template: pods, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{RollingUpdate: rolling},
		}, Status: appsv1.StatefulSetStatus{Conditions: []appsv1.StatefulSetCondition{{Message: long}}}},
		"DaemonSet": &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pods},
			Status: appsv1.DaemonSetStatus{Conditions: []appsv1.DaemonSetCondition{{Message: long}}}},
		"Job":     &batchv1.Job{ObjectMeta: metadata, Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Message: long}, ended}}},
		"Service": &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metadata},
	} {
		kept, err := Strip(object)
		if err != nil {
			t.Fatal(err)
		}
		sum := -len(metadata.Namespace) - len(metadata.Name) // the key
		for path, value := range textsIn(kept) {
			if sum += len(value); len(value) > longestMessage+len(metadata.Name) {
				t.Errorf("%s of a %s has %d bytes", path, name, len(value))
			}
		}
		if t.Logf("%s: %d bytes", name, sum); sum > 1024 {
			t.Errorf("of a %s, %d bytes are kept: %q", name, sum, textsIn(kept))
		}
	}
}

// textsIn returns all texts in an object, by path.
func textsIn(object any) map[string]string {
	text, _ := json.Marshal(object)
	var parsed any
	_ = json.Unmarshal(text, &parsed)
	found := map[string]string{}
	var walk func(string, any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case string:
			found[path] = value
		case []any:
			for i, item := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), item)
			}
		case map[string]any:
			for key, item := range value {
				walk(path+"."+key, item)
			}
		}
	}
	walk("", parsed)
	return found
}
