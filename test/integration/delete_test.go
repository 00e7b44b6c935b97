package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// remove deletes a Collector and waits until it is gone.
func remove(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	if err := plane.client.Delete(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, collector)
}

func awaitGone(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{})
		return apierrors.IsNotFound(err)
	}).Should(BeTrue(), "Collector %s is gone", client.ObjectKeyFromObject(collector))
}

func TestADeletedCollectorLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	before := names(contents(t, namespace))
	collector := newCollector(namespace, "gateway")
	create(t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	remove(t, collector)
	NewWithT(t).Expect(names(contents(t, namespace))).To(Equal(before))
}

func TestACollectorThatWasNeverDeployedCanBeDeleted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	before := names(contents(t, namespace))
	collector := newCollector(namespace, "gateway")
	collector.Spec.Collector.Configuration = []byte("- " + secret)
	createRefused(t, collector)
	remove(t, collector)
	NewWithT(t).Expect(names(contents(t, namespace))).To(Equal(before))
}
