package integration

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// local is the reference to what createBackend creates.
var local = corev1.LocalObjectReference{Name: "backend"}

// places are where pods refer to a Secret or ConfigMap.
var places = []struct {
	name   string
	object client.Object // empty, of the kind that is referred to
	refer  func(*v1alpha1.Collector)
}{
	{"a Secret in env", &corev1.Secret{}, func(c *v1alpha1.Collector) {
		c.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local, Key: "password"},
		}}}
	}},
	{"a Secret in envFrom", &corev1.Secret{}, func(c *v1alpha1.Collector) {
		c.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local}}}
	}},
	{"a Secret in a volume", &corev1.Secret{}, func(c *v1alpha1.Collector) {
		mount(c, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "backend"}})
	}},
	{"a Secret in a projected volume", &corev1.Secret{}, func(c *v1alpha1.Collector) {
		mount(c, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: local}},
		}}})
	}},
	{"a ConfigMap in env", &corev1.ConfigMap{}, func(c *v1alpha1.Collector) {
		c.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local, Key: "password"},
		}}}
	}},
	{"a ConfigMap in envFrom", &corev1.ConfigMap{}, func(c *v1alpha1.Collector) {
		c.Spec.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local}}}
	}},
	{"a ConfigMap in a volume", &corev1.ConfigMap{}, func(c *v1alpha1.Collector) {
		mount(c, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local}})
	}},
	{"a ConfigMap in a projected volume", &corev1.ConfigMap{}, func(c *v1alpha1.Collector) {
		mount(c, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local}},
		}}})
	}},
}

func mount(collector *v1alpha1.Collector, source corev1.VolumeSource) {
	collector.Spec.ExtraVolumes = []corev1.Volume{{Name: "backend", VolumeSource: source}}
	collector.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "backend", MountPath: "/backend"}}
}

// createBackend creates an object called backend of the kind of empty, with some data, and the label if it is to be followed.
func createBackend(t *testing.T, namespace string, empty client.Object, followed bool) client.Object {
	t.Helper()
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: "backend"}
	if followed {
		metadata.Labels = map[string]string{collectorLabel: ""}
	}
	var created client.Object = &corev1.Secret{ObjectMeta: metadata, Data: map[string][]byte{"password": []byte(secret)}}
	if _, is := empty.(*corev1.ConfigMap); is {
		created = &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{"password": "first"}}
	}
	if err := plane.client.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	return created
}

// rotate writes another password to what createBackend has created.
func rotate(t *testing.T, backend client.Object) {
	t.Helper()
	before, _ := backend.DeepCopyObject().(client.Object)
	switch changed := backend.(type) {
	case *corev1.Secret:
		changed.Data = map[string][]byte{"password": []byte("second")}
	case *corev1.ConfigMap:
		changed.Data = map[string]string{"password": "second"}
	}
	if err := plane.client.Patch(t.Context(), backend, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// label writes a label or, without a value, removes it.
func label(t *testing.T, object client.Object, key string, value *string) {
	t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	labels := map[string]string{}
	maps.Copy(labels, object.GetLabels())
	delete(labels, key)
	if value != nil {
		labels[key] = *value
	}
	object.SetLabels(labels)
	if err := plane.client.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
