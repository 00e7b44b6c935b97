//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// awaitReadySays waits until a Collector's condition Ready has status and reason, and its message all of the texts.
func awaitReadySays(t *testing.T, collector *v1alpha1.Collector, statusAndReason string, texts ...string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		current := &v1alpha1.Collector{}
		g.Expect(cluster.Get(t.Context(), client.ObjectKeyFromObject(collector), current)).To(Succeed())
		g.Expect(readyOf(current)).To(Equal(statusAndReason), "%+v", current.Status)
		for _, condition := range current.Status.Conditions {
			for _, text := range texts {
				if condition.Type == "Ready" {
					g.Expect(condition.Message).To(ContainSubstring(text))
				}
			}
		}
	}).Should(Succeed())
}

// What keeps a pod from serving, as a real scheduler and a real node say it.
func TestReadySaysWhatKeepsPodsFromServing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spoil, mend func(*v1alpha1.Collector)
		want        []string
	}{
		"an image that is nowhere": {
			spoil: func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Tag: "none", PullPolicy: corev1.PullNever} },
			mend:  func(c *v1alpha1.Collector) { c.Spec.Image = nil },
			want:  []string{"/1 ", "pod gateway-", "ErrImageNeverPull"},
		},
		"no node to run on": {
			spoil: func(c *v1alpha1.Collector) { c.Spec.NodeSelector = map[string]string{"no-such": "node"} },
			mend:  func(c *v1alpha1.Collector) { c.Spec.NodeSelector = nil },
			want:  []string{"pod gateway-", "Unschedulable: 0/1 nodes are available"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
			row.spoil(collector)
			create(t, collector)
			awaitReadySays(t, collector, "False PodsNotReady", row.want...)
			change(t, collector, row.mend)
			awaitReady(t, collector)
		})
	}
}

func TestAQuotaThatRefusesPodsIsToldAndGotOver(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tight"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	if err := cluster.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() (corev1.ResourceList, error) {
		err := cluster.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
		return quota.Status.Hard, err
	}).ShouldNot(BeEmpty(), "the quota is in force")

	collector := newCollector(namespace, "gateway", printing("basic"))
	create(t, collector)
	awaitReady(t, collector)
	old := podsOf(t, collector)[0]

	// The new pod would be the second one.
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("detailed")) })
	awaitReadySays(t, collector, "False PodsNotReady", "FailedCreate: pods", "exceeded quota: tight")
	NewWithT(t).Expect(podsOf(t, collector)).To(ConsistOf(HaveField("UID", old.UID)), "the old pod serves on")

	if err := cluster.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, collector)
}

func TestAPausedCollectorIsLeftAloneUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	create(t, collector)
	awaitReady(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, "true")
	})
	awaitReadySays(t, collector, "Unknown Paused", v1alpha1.PausedAnnotation, "1/1 available")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("detailed")) })

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: collector.Name}}
	for _, replicas := range []int{2, 1} { // it is followed, though
		scale := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas))
		if err := cluster.Patch(t.Context(), deployment, scale); err != nil {
			t.Fatal(err)
		}
		awaitReadySays(t, collector, "Unknown Paused", fmt.Sprintf("%d/%d available", replicas, replicas))
	}
	rollout, err := workload(t.Context(), collector)
	if err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect(rollout.hash).To(Equal(sha256Of([]byte(printing("basic")))))

	if err := cluster.Delete(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, collector)
}
