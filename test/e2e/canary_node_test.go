//go:build e2e

package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Not parallel: pods of other DaemonSets could be on the node, too.
func TestACanaryPodIsOnAHealthyNodeWhileAnotherNodeIsDown(t *testing.T) {
	down := &corev1.Node{ // no kubelet runs there
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-down"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "e2e.kube8.dev/down", Effect: corev1.TaintEffectNoSchedule}}},
	}
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Mode, collector.Spec.Canary = v1alpha1.ModeDaemonSet, &v1alpha1.Canary{Hold: shortHold.String()}
	collector.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{RollingUpdate: &v1alpha1.RollingUpdate{
		MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1)),
	}}
	collector.Spec.Tolerations = []corev1.Toleration{{Key: down.Spec.Taints[0].Key, Operator: corev1.TolerationOpExists}}
	create(t, collector)
	awaitReady(t, collector)
	age(t, podsOf(t, collector))

	room := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("9")}
	create(t, down)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := cluster.Delete(ctx, down); err != nil {
			t.Error(err)
		}
		_ = cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(collector.Namespace), client.GracePeriodSeconds(0))
	})
	g, before := NewWithT(t), down.DeepCopy()
	down.Status.Capacity, down.Status.Allocatable = room, room
	g.Expect(cluster.Status().Patch(t.Context(), down, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func() (there int) {
		for _, pod := range podsOf(t, collector) {
			if pod.Spec.NodeName == down.Name {
				there++
			}
		}
		return there
	}).Should(Equal(1), "pods on the node that is down")

	config := printing("detailed")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(config) })
	g.Eventually(func() string { return get(t, collector, &v1alpha1.Collector{}).Status.ConfigHash }).
		Should(Equal(sha256Of([]byte(config))), "the change is proven")
}
