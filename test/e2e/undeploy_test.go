//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 9.

func TestADeletedCollectorLeavesNothing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	before := contents(t, namespace)
	collector := newCollector(namespace, "gateway", printing("basic"))
	collector.Spec.Mode = v1alpha1.ModeStatefulSet
	addVolume(collector)
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: ptr.To[int32](2)}
	collector.Spec.PodDisruptionBudget = &v1alpha1.PodDisruptionBudget{Enabled: true}
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	create(t, collector)
	awaitReady(t, collector)

	removeCollectors(t, namespace)
	NewWithT(t).Eventually(func() []string { return contents(t, namespace) }).Should(Equal(before))
}

func TestUndeployRefusesWhileCollectorsExistAndThenRemovesAll(t *testing.T) {
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	create(t, collector)
	awaitReady(t, collector)
	operator := operatorPod(t)
	g := NewWithT(t)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := makeTarget(ctx, "undeploy")
	g.Expect(err).To(HaveOccurred())
	g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it says so at once")
	g.Expect(out).To(ContainSubstring("kubectl delete collectors.kube8.dev --all --all-namespaces"))
	g.Expect(get(t, &operator, &corev1.Pod{}).DeletionTimestamp).To(BeNil())
	g.Expect(waitsFor(t.Context(), collector)).To(BeEmpty(), "the Collector is as it was")

	removeCollectors(t, collector.Namespace) // only this one: not even a test should delete what is somebody else's
	if err := undeploy(t.Context()); err != nil {
		t.Error(err)
	}
	for _, kinds := range []string{
		"namespaces", "customresourcedefinitions", "clusterroles", "clusterrolebindings",
	} {
		left, err := kubectl(t.Context(), "get", kinds, "-l", "app.kubernetes.io/name=kube8-operator", "-o", "name")
		g.Expect(err).NotTo(HaveOccurred(), left)
		g.Expect(left).To(BeEmpty())
	}
	err = cluster.List(t.Context(), &v1alpha1.CollectorList{}, client.InNamespace(collector.Namespace))
	g.Expect(err).To(Satisfy(apierrors.IsNotFound))

	if err := deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
}
