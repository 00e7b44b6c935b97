package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// awaitNoDeployment waits until a Collector has no Deployment.
func awaitNoDeployment(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(MatchError(apierrors.IsNotFound, "not found"), "Ready: %v", condition(t, collector, "Ready"))
}

func TestAWorkloadOfAnotherModeGoesAlsoIfPodsStayOldByThePartition(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Mode = v1alpha1.ModeStatefulSet
		c.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{RollingUpdate: &v1alpha1.RollingUpdate{Partition: new(int32(1))}}
	})
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	set := get(t, collector, "", &appsv1.StatefulSet{})
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, CurrentReplicas: 1}
	NewWithT(t).Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
	awaitNoDeployment(t, collector)
	awaitReady(t, collector, "True", v1alpha1.ReasonAvailable, "")
}
