//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 18.

func TestClaimsGrowWithTheirTemplateWhilePodsRun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("detailed"))
	collector.Spec.Mode = v1alpha1.ModeStatefulSet
	addVolume(collector)
	collector.Spec.Replicas = new(int32(2))
	request := func(c *v1alpha1.Collector, size string) {
		c.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
	}
	request(collector, "10Gi")
	create(t, collector)
	awaitReady(t, collector)
	old, pods := get(t, collector, &appsv1.StatefulSet{}), podsOf(t, collector)
	g.Expect(pods).To(HaveLen(2))

	change(t, collector, func(c *v1alpha1.Collector) { request(c, "20Gi") })
	set := &appsv1.StatefulSet{}
	g.Eventually(func() (types.UID, error) {
		err := cluster.Get(t.Context(), client.ObjectKeyFromObject(collector), set)
		return set.UID, client.IgnoreNotFound(err)
	}).ShouldNot(BeElementOf(old.UID, types.UID("")), "the StatefulSet's UID")
	g.Expect(set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("20Gi"))
	resizeVolumes(t, collector.Namespace)
	g.Eventually(func() (sizes []string) {
		for _, claim := range claimsIn(t, collector.Namespace) {
			sizes = append(sizes, claim.Status.Capacity.Storage().String())
		}
		return sizes
	}).Should(Equal([]string{"20Gi", "20Gi"}), "what the pods have")

	awaitReady(t, collector)
	g.Eventually(func() error { return send(t.Context(), collector, "a-span-of-scenario-18") }).Should(Succeed())
	awaitPrinted(t, collector, "a-span-of-scenario-18")
	adopted := podsOf(t, collector)
	g.Expect(uids(adopted)).To(ConsistOf(uids(pods)), "the pods that ran before")
	for _, pod := range adopted {
		g.Expect(metav1.IsControlledBy(&pod, set)).To(BeTrue(), "the new StatefulSet has pod %s", pod.Name)
		g.Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero(), "restarts of pod %s", pod.Name)
	}
}

// resizeVolumes does for volumes that nobody provisions what the controller of a CSI driver does: it makes them as large as
// their claims request. The kubelet does the rest.
func resizeVolumes(t *testing.T, namespace string) {
	t.Helper()
	for _, claim := range claimsIn(t, namespace) {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: *claim.Spec.StorageClassName}}
		if get(t, class, class).Provisioner != "kubernetes.io/no-provisioner" {
			continue
		}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
		before := get(t, volume, volume).DeepCopy()
		volume.Spec.Capacity[corev1.ResourceStorage] = *claim.Spec.Resources.Requests.Storage()
		if err := cluster.Patch(t.Context(), volume, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
}

func claimsIn(t *testing.T, namespace string) []corev1.PersistentVolumeClaim {
	t.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := cluster.List(t.Context(), &claims, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return claims.Items
}
