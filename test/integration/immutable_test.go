package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// mounts returns the name of the Secret that a Collector's pods mount as their files.
func mounts(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	for _, volume := range get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Volumes {
		if volume.Name == "config" {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// configurationsOf returns the ends of the names of the Secrets with a Collector's configurations.
func configurationsOf(t *testing.T, collector *v1alpha1.Collector) (ends []string) {
	t.Helper()
	for _, name := range names(contents(t, collector.Namespace)) {
		if end, found := strings.CutPrefix(name, "Secret/"+collector.Name); found {
			ends = append(ends, end)
		}
	}
	return ends
}

// configure deploys another configuration, and returns the end of the name of its Secret.
func configure(t *testing.T, collector *v1alpha1.Collector, text string) string {
	t.Helper()
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(text) })
	return filesOf(text)
}

// tamper has another Secret in the place of the one with the first configuration: the operator takes it for its own, and
// nobody can change it.
func tamper(t *testing.T, collector *v1alpha1.Collector) error {
	t.Helper()
	old := get(t, collector, filesOf(config), &corev1.Secret{})
	if err := plane.client.Delete(t.Context(), old); err != nil {
		return err
	}
	return plane.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels, OwnerReferences: old.OwnerReferences},
		Immutable:  new(true), Data: map[string][]byte{"config.yaml": []byte("edited: " + secret)},
	})
}

func TestEachConfigurationHasASecretOfItsOwn(t *testing.T) {
	t.Parallel()
	collector := install(t, keepsThree)
	g := NewWithT(t)
	first := get(t, collector, filesOf(config), &corev1.Secret{})
	g.Expect(first.Immutable).To(HaveValue(BeTrue()))
	old := runPod(t, collector, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: mounts(t, collector)}})

	var ends []string
	for _, text := range []string{"a: {}", "b: {}", "c: {}", "d: {}"} {
		becomeReady(t, collector) // or earlier pods may come back
		ends = append(ends, configure(t, collector, text))
		g.Expect(mounts(t, collector)).To(Equal("gateway" + ends[len(ends)-1]))
	}
	g.Expect(configurationsOf(t, collector)).To(ConsistOf(filesOf(config), ends[1], ends[2], ends[3]), "that of the pod, and the last three")

	t.Run("to which a revert comes back", func(t *testing.T) {
		before := get(t, collector, filesOf(config), &corev1.Secret{})
		configure(t, collector, config)
		NewWithT(t).Expect(mounts(t, collector)).To(Equal("gateway" + filesOf(config)))
		NewWithT(t).Expect(get(t, collector, filesOf(config), &corev1.Secret{})).To(Equal(before))
		NewWithT(t).Expect(before).To(Equal(first))
		configure(t, collector, "d: {}")
	})
	t.Run("and one that no pod uses goes when it is not among them", func(t *testing.T) {
		if err := plane.client.Delete(t.Context(), old, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		becomeReady(t, collector)
		NewWithT(t).Eventually(func() []string { return configurationsOf(t, collector) }).Should(ConsistOf(ends[1:]))
		requests := plane.audit.mark(t)
		touch(t, collector)
		NewWithT(t).Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())
	})
	t.Run("that goes when there is no configuration any more", func(t *testing.T) {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = nil })
		becomeReady(t, collector)
		NewWithT(t).Eventually(func() []string { return configurationsOf(t, collector) }).Should(BeEmpty())
	})
}

func TestAConfigurationThatNoWorkloadCouldGetLeavesNoSecret(t *testing.T) {
	t.Parallel()
	collector := install(t)
	g := NewWithT(t)
	for _, text := range []string{"a: {}", "b: {}", "c: {}"} {
		change(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration = []byte(text)
			c.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "none", MountPath: "/none"}}
		})
		g.Eventually(func() []string { return configurationsOf(t, collector) }).Should(ConsistOf(filesOf(config), filesOf(text)))
	}
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.ExtraVolumeMounts = nil })
	g.Expect(configurationsOf(t, collector)).To(ConsistOf(filesOf(config), filesOf("c: {}")))
}

func TestASecretThatIsNotWhatItsNameSaysIsReplaced(t *testing.T) {
	t.Parallel()
	collector := install(t)
	want := shape(t, collector)
	pause(t, collector) // there is a moment in which the Secret is not there
	if err := tamper(t, collector); err != nil {
		t.Fatal(err)
	}
	resume(t, collector)
	awaitContents(t, collector, want)
}
