package integration

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// queueOf returns a template of claims of a class.
func queueOf(class, size string) []v1alpha1.VolumeClaimTemplate {
	return []v1alpha1.VolumeClaimTemplate{{
		Metadata: v1alpha1.ClaimMetadata{Name: "queue"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}}
}

// createClass creates a StorageClass, unless another test has.
func createClass(t *testing.T, name string, grows bool) {
	t.Helper()
	NewWithT(t).Expect(client.IgnoreAlreadyExists(plane.client.Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/disk", AllowVolumeExpansion: &grows,
	}))).To(Succeed())
}

// bind has a claim bound to a volume of the size that it requests.
func bind(t *testing.T, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	g := NewWithT(t)
	claim.Spec.VolumeName = "pv"
	g.Expect(plane.client.Update(t.Context(), claim)).To(Succeed())
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
	g.Expect(plane.client.Status().Update(t.Context(), claim)).To(Succeed())
}

// newQueued creates a StatefulSet's Collector with claims of a class that lets them grow or not, and bound claims as the
// controllers of Kubernetes make them.
func newQueued(t *testing.T, class string, grows bool, claims ...string) *v1alpha1.Collector {
	t.Helper()
	g := NewWithT(t)
	createClass(t, class, grows)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode, collector.Spec.VolumeClaimTemplates = v1alpha1.ModeStatefulSet, queueOf(class, "1Gi")
	create(t, collector)
	for _, name := range claims {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: name, Labels: map[string]string{collectorLabel: "gateway"}},
			Spec:       collector.Spec.VolumeClaimTemplates[0].Spec,
		}
		g.Expect(plane.client.Create(t.Context(), claim)).To(Succeed())
		claim.Status.Phase = corev1.ClaimBound
		g.Expect(plane.client.Status().Update(t.Context(), claim)).To(Succeed())
	}
	return collector
}

// orphanPods does what the garbage collector does for a StatefulSet that is deleted without its pods, until ctx ends.
func orphanPods(ctx context.Context, t *testing.T, collector *v1alpha1.Collector) (orphaned chan struct{}) {
	t.Helper()
	orphaned = make(chan struct{}, 1)
	watching, err := client.NewWithWatch(plane.env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := watching.Watch(ctx, &appsv1.StatefulSetList{}, client.InNamespace(collector.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range sets.ResultChan() {
			set, isSet := event.Object.(*appsv1.StatefulSet)
			if isSet && set.DeletionTimestamp != nil && slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents) {
				set.Finalizers = nil
				_ = plane.client.Update(ctx, set)
				orphaned <- struct{}{}
			}
		}
	}()
	t.Cleanup(sets.Stop)
	return orphaned
}

func TestClaimsGrowWithTheirTemplateAndPodsRunOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newQueued(t, "grows", true, "queue-gateway-0", "queue-gateway-11", "queue-gateway-other", "queue-other-gateway-0")
	pod := runPod(t, collector, corev1.VolumeSource{})
	before := get(t, collector, "", &appsv1.StatefulSet{})
	orphaned := orphanPods(t.Context(), t, collector)

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	g.Eventually(orphaned).Should(Receive(), "the StatefulSet was not deleted without its pods")
	after := get(t, collector, "", &appsv1.StatefulSet{})
	g.Expect(after.UID).NotTo(Equal(before.UID))
	g.Expect(after.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
	sizes := map[string]string{}
	var claims corev1.PersistentVolumeClaimList
	g.Expect(plane.client.List(t.Context(), &claims, client.InNamespace(collector.Namespace))).To(Succeed())
	for _, claim := range claims.Items {
		sizes[claim.Name] = claim.Spec.Resources.Requests.Storage().String()
	}
	g.Expect(sizes).To(Equal(map[string]string{
		"queue-gateway-0": "2Gi", "queue-gateway-11": "2Gi", "queue-gateway-other": "1Gi", "queue-other-gateway-0": "1Gi",
	}))
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	g.Expect(pod.DeletionTimestamp).To(BeNil())
	settled(t, collector)
	since := plane.audit.mark(t)
	touch(t, collector)
	g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty(), "writes once all is as it should be")
}

func TestClaimsThatCannotGrowAreToldAndNothingElseHappens(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class, size, want string
		grows             bool
	}{
		"a smaller size": {"grows", "500Mi", "spec.volumeClaimTemplates[0].spec.resources.requests.storage: " +
			"500Mi is less than before, and a claim cannot shrink; set it to 1Gi or more", true},
		"a class that does not expand claims": {"fixed", "2Gi", `expand PersistentVolumeClaim "queue-gateway-0" for ` +
			"spec.volumeClaimTemplates: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newQueued(t, row.class, row.grows, "queue-gateway-0")
			before := get(t, collector, "", &appsv1.StatefulSet{})
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf(row.class, row.size) })
			g := NewWithT(t)
			g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(row.want))
			after := get(t, collector, "", &appsv1.StatefulSet{})
			g.Expect(after.UID).To(Equal(before.UID))
			g.Expect(after.DeletionTimestamp).To(BeNil())
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf(row.class, "1Gi") })
			g.Eventually(func() string { return string(condition(t, collector, "ReleaseFailed").Status) }).Should(Equal("False"), "after going back")
		})
	}
}
