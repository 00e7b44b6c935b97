package integration

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// referTo adds to a Collector a reference of each kind to a Secret.
func referTo(collector *v1alpha1.Collector, secret string) {
	spec, named := &collector.Spec, corev1.LocalObjectReference{Name: secret}
	spec.Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named, Key: "collector.yaml"},
	}}}
	spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named}}}
	spec.ImagePullSecrets = []corev1.LocalObjectReference{named}
	spec.InitContainers = []corev1.Container{{Name: "init", Image: "busybox", Env: spec.Env, EnvFrom: spec.EnvFrom}}
	spec.ExtraContainers = []corev1.Container{{Name: "extra", Image: "busybox", Env: spec.Env, EnvFrom: spec.EnvFrom}}
	spec.ExtraVolumes = []corev1.Volume{
		{Name: "own", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}},
		{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: named}}},
		}}},
	}
}

// secretsOf returns the Secrets that a Collector's pods refer to, sorted, each as often as they do.
func secretsOf(t *testing.T, collector *v1alpha1.Collector) (found []string) {
	t.Helper()
	pod := get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			found = append(found, volume.Secret.SecretName)
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				found = append(found, source.Secret.Name)
			}
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				found = append(found, variable.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, source := range container.EnvFrom {
			found = append(found, source.SecretRef.Name)
		}
	}
	for _, pull := range pod.ImagePullSecrets {
		found = append(found, pull.Name)
	}
	slices.Sort(found)
	return found
}

func TestASecretThatTheOwnerOfACollectorRefersToKeepsItsName(t *testing.T) {
	t.Parallel()
	const secret = "gateway-config" // as the chart names its own, before the post-renderer adds a hash
	filesAlone := map[string]v1alpha1.FileContent{"extra.yaml": []byte("a: 1")}
	referred := slices.Repeat([]string{secret}, 9) // by referTo
	for _, row := range []struct {
		name   string
		change func(*v1alpha1.Collector)
		want   []string
	}{
		{"beside a configuration in the spec", func(*v1alpha1.Collector) {}, append(slices.Clone(referred), "gateway"+filesOf(config))},
		{"that is the configuration, beside files", func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration, c.Spec.Collector.Files = nil, filesAlone
			c.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: secret, Key: "collector.yaml", Copy: new(false)}
		}, append(slices.Clone(referred), secret, "gateway-config-"+sha256Of(sha256Of("a: 1") + "  extra.yaml\n")[:10])},
		{"that is copied as the configuration", func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration = nil
			c.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: secret, Key: "collector.yaml"}
		}, append(slices.Clone(referred), "gateway"+filesOf(config))},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			referTo(collector, secret)
			row.change(collector)
			created := createSecret(t, collector.Namespace, secret, config)
			create(t, collector)
			g := NewWithT(t)
			g.Expect(secretsOf(t, collector)).To(Equal(row.want))
			after := &corev1.Secret{}
			g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(created), after)).To(Succeed())
			g.Expect(after).To(Equal(created), "the owner's Secret")
		})
	}
}
