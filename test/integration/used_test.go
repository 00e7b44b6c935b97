package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// runPod creates a pod of a Collector that uses its ServiceAccount and a volume, as one of an earlier revision does.
func runPod(t *testing.T, collector *v1alpha1.Collector, volume corev1.VolumeSource) *corev1.Pod {
	t.Helper()
	return runPodAs(t, collector, "", volume)
}

func runPodAs(t *testing.T, collector *v1alpha1.Collector, name string, volume corev1.VolumeSource) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: collector.Namespace, Name: name, GenerateName: collector.Name + "-", Labels: map[string]string{collectorLabel: collector.Name},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: collector.Name,
			Containers:         []corev1.Container{{Name: "collector", Image: "collector"}},
			Volumes:            []corev1.Volume{{Name: "config", VolumeSource: volume}},
		},
	}
	if name != "" { // as of a StatefulSet
		pod.Labels[appsv1.StatefulSetPodNameLabel] = name
	}
	for _, template := range collector.Spec.VolumeClaimTemplates {
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: template.Metadata.Name + "-" + name}
		volume := corev1.Volume{Name: template.Metadata.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
	if err := plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// takeBack does what the controller of StatefulSets does for pods that nothing controls, when their StatefulSet is there.
func takeBack(t *testing.T, collector *v1alpha1.Collector, pods ...*corev1.Pod) {
	t.Helper()
	set := get(t, collector, "", &appsv1.StatefulSet{})
	for _, pod := range pods {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		if err := plane.client.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatOldPodsUseStaysUntilTheyHaveGone(t *testing.T) {
	t.Parallel()
	mounted := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "gateway" + filesOf(config)}}
	projected := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "gateway" + filesOf(config)}}},
	}}}
	moves := func(c *v1alpha1.Collector) {
		c.Spec.Collector.Configuration = nil
		c.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "team-config", Key: "config.yaml", Copy: new(false)}
	}
	for _, row := range []struct {
		name, object string
		volume       corev1.VolumeSource
		change       func(*v1alpha1.Collector)
	}{
		{"the ServiceAccount, when another is named", "ServiceAccount/gateway", mounted, func(c *v1alpha1.Collector) {
			c.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Name: "another"}
		}},
		{"the configuration's Secret, when it moves to another", "Secret/gateway" + filesOf(config), mounted, moves},
		{"a Secret that is projected beside others", "Secret/gateway" + filesOf(config), projected, moves},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			team := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "team-config", Labels: map[string]string{collectorLabel: ""}},
				StringData: map[string]string{"config.yaml": config},
			}
			if err := plane.client.Create(t.Context(), team); err != nil {
				t.Fatal(err)
			}
			pod := runPod(t, collector, row.volume)
			touch(t, collector)
			upgrade(t, collector, row.change)
			found := func() []string {
				return names(contents(t, collector.Namespace, client.MatchingLabels{collectorLabel: collector.Name}))
			}
			g := NewWithT(t)
			g.Consistently(found, 2*time.Second).Should(ContainElement(row.object), "a pod uses it")
			requests := plane.audit.mark(t)
			touch(t, collector)
			g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())

			if err := plane.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
				t.Fatal(err)
			}
			serve(t, collector, 1) // until then an earlier pod may come back
			g.Eventually(found).ShouldNot(ContainElement(row.object))
		})
	}
}
