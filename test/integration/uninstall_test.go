package integration

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const holdFinalizer = "example.com/hold"

// installHeld creates a minimal Collector whose Service has a finalizer of another client.
func installHeld(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	collector := install(t)
	service := get(t, collector, "", &corev1.Service{})
	service.Finalizers = append(service.Finalizers, holdFinalizer)
	if err := plane.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return collector
}

// deleteAndAwait deletes a Collector of installHeld, and waits until the operator has deleted its Service. After the deletion, it stays
// for 30 s at most.
func deleteAndAwait(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	if err := plane.client.Delete(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() bool { return get(t, collector, "", &corev1.Service{}).DeletionTimestamp != nil }).Should(BeTrue())
}

// awaitLate waits until a Collector has gone that waits in vain for what keeps it.
func awaitLate(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{})
		return apierrors.IsNotFound(err)
	}).WithTimeout(90 * time.Second).Should(BeTrue())
}

// letGo removes the finalizer that holds the Service.
func letGo(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	service := get(t, collector, "", &corev1.Service{})
	service.Finalizers = nil
	if err := plane.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
}

// awaitHeld waits until a Collector says why it is still there.
func awaitHeld(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() v1alpha1.Condition { return condition(t, collector, "ReleaseFailed") }).Should(And(
		HaveField("Status", corev1.ConditionTrue),
		HaveField("Message", `deleted, but still there: Service "gateway" with finalizers `+holdFinalizer+
			"; the Collector goes when they are gone, or after 30s")))
}

func TestACollectorStaysUntilWhatItBecameIsGone(t *testing.T) {
	t.Parallel()
	var held []*v1alpha1.Collector
	for range min(runtime.NumCPU()+1, 5) { // one more than there are workers, if there are not many: none waits for another
		held = append(held, installHeld(t))
	}
	for _, collector := range held {
		deleteAndAwait(t, collector)
	}
	for _, collector := range held {
		awaitHeld(t, collector)
		letGo(t, collector)
	}
	for _, collector := range held {
		awaitGone(t, collector)
		NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
	}
}

// disown takes the owner reference of a Collector's Deployment away, and does more operations of a JSON patch.
func disown(t *testing.T, collector *v1alpha1.Collector, more ...string) {
	t.Helper()
	since := shared.log.mark()
	operations := append([]string{`{"op": "remove", "path": "/metadata/ownerReferences"}`}, more...)
	patch := client.RawPatch(types.JSONPatchType, []byte("["+strings.Join(operations, ", ")+"]"))
	if err := plane.client.Patch(t.Context(), get(t, collector, "", &appsv1.Deployment{}), patch); err != nil {
		t.Fatal(err)
	}
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector)) // so the informer cache has it when the Collector is deleted
}

func TestACollectorStaysWithWhatThePodsOfAWorkloadUseThatItNoLongerControls(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	before := names(contents(t, collector.Namespace))
	disown(t, collector)
	g.Eventually(func() string { return condition(t, collector, "Ready").Reason }).Should(Equal(v1alpha1.ReasonConflict))
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(HavePrefix(
		`the Collector no longer controls Deployment "gateway", whose pods use what goes with the Collector`))
	g.Expect(names(contents(t, collector.Namespace))).To(Equal(before))
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
	awaitGone(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
}

func TestACollectorStaysWithWhatAWorkloadUsesWhoseMetadataLacksMore(t *testing.T) {
	t.Parallel()
	for name, lacks := range map[string]string{
		"the label":          `{"op": "remove", "path": "/metadata/labels/kube8.dev~1collector"}`,
		"its managed fields": `{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), install(t)
			disown(t, collector, lacks)
			g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
			g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(HavePrefix(
				`the Collector no longer controls Deployment "gateway", whose pods use what goes with the Collector`))
			get(t, collector, "", &corev1.ServiceAccount{})
			g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
			awaitGone(t, collector)
		})
	}
}

func TestACollectorTellsOfTheWorkloadThatItNoLongerControlsWhenItGoes(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	disown(t, collector)
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
	awaitLate(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(ConsistOf("Deployment/gateway"), "what its pods use goes, too")
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(HavePrefix(
		`Warning LeftBehind: the Collector goes after 30s: the Collector no longer controls Deployment "gateway", whose pods use what goes`)))
}

func TestACollectorDoesNotWaitForEverForWhatSomebodyElseHolds(t *testing.T) {
	t.Parallel()
	collector := installHeld(t)
	deleteAndAwait(t, collector)
	awaitHeld(t, collector)
	g := NewWithT(t)
	awaitLate(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(ConsistOf("Service/gateway"))
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(
		`Warning LeftBehind: the Collector goes after 30s: deleted, but still there: Service "gateway" with finalizers ` + holdFinalizer))
	letGo(t, collector)
}

func TestCollectorsThatSomebodyElseHoldsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	var held []*v1alpha1.Collector
	for range 2*runtime.GOMAXPROCS(0) + 1 { // one more than there are workers
		collector := install(t)
		held = append(held, collector)
		change(t, collector, func(c *v1alpha1.Collector) { c.Finalizers = append(c.Finalizers, holdFinalizer) })
		t.Cleanup(func() {
			letGo := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
			if err := plane.client.Patch(context.Background(), collector, letGo); err != nil {
				t.Error(err)
			}
		})
	}
	for _, collector := range held {
		if err := plane.client.Delete(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
	}
	for _, collector := range held {
		NewWithT(t).Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Finalizers }).
			Should(Equal([]string{holdFinalizer}), "what keeps %s", client.ObjectKeyFromObject(collector))
	}
	begin := time.Now()
	install(t)
	NewWithT(t).Expect(time.Since(begin)).To(BeNumerically("<", 15*time.Second), "until a Collector that nobody holds is deployed")
}

// newMonitored returns a Collector with a ServiceMonitor.
func newMonitored(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.ServiceMonitor = &v1alpha1.Monitor{Enabled: true}
	return collector
}

// Not parallel: it removes a CRD, and stops the shared operator.
func TestACollectorDoesNotNeedTheCRDsThatWereRemovedSinceItWasDeployed(t *testing.T) {
	for name, restart := range map[string]bool{"by an operator that knew them": false, "by an operator that did not": true} {
		t.Run(name, func(t *testing.T) {
			upgraded, deleted := newMonitored(t), newMonitored(t)
			create(t, upgraded)
			create(t, deleted)
			if restart {
				if err := shared.stop(); err != nil {
					t.Fatal(err)
				}
			}
			removeMonitors(t)
			if restart {
				if err := shared.start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}

			begin := time.Now()
			remove(t, deleted)
			upgrade(t, upgraded, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			g := NewWithT(t)
			g.Expect(condition(t, upgraded, "Irreconcilable").Status).To(Equal(corev1.ConditionFalse))
			remove(t, upgraded)
			for _, namespace := range []string{upgraded.Namespace, deleted.Namespace} {
				g.Expect(list(t, namespace, "v1", "Service")).To(BeEmpty())
				g.Expect(list(t, namespace, "v1", "Secret")).To(BeEmpty())
			}
			g.Expect(time.Since(begin)).To(BeNumerically("<", 25*time.Second), "nothing waits for a kind that is not there")
		})
	}
}

// Not parallel: it removes a CRD, and stops the shared operator.
func TestACollectorGetsItsMonitorAndItsAlertsBackWithTheCRDs(t *testing.T) {
	collector := newMonitored(t)
	collector.Spec.PrometheusRule = &v1alpha1.PrometheusRule{Enabled: true}
	create(t, collector)
	had := func(g Gomega) {
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
			g.Expect(list(t, collector.Namespace, "monitoring.coreos.com/v1", kind)).To(HaveLen(1), kind)
		}
	}
	had(NewWithT(t))
	t.Run("while the CRD is gone", func(t *testing.T) {
		removeMonitors(t)
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
		// By two revisions, if the operator looks when only one of the CRDs is gone.
		NewWithT(t).Eventually(func() string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Version }).Should(Equal("0.151.0"))
	})
	NewWithT(t).Eventually(had).Should(Succeed())
}

// The garbage collector, which this control plane does not run, would take the Collector out of its objects' owners and remove its finalizer.
func TestACollectorThatIsDeletedWithoutItsObjectsLeavesThem(t *testing.T) {
	t.Parallel()
	collector := install(t)
	before := names(contents(t, collector.Namespace))
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), collector, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	g.Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Finalizers }).
		Should(Equal([]string{metav1.FinalizerOrphanDependents}))
	g.Expect(names(contents(t, collector.Namespace))).To(Equal(before))
	g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"1 deployed"}))
	g.Eventually(func() string { return fmt.Sprint(events(t, collector)) }).Should(ContainSubstring("Orphaned: all objects of the Collector stay"))
	left := get(t, collector, "", &v1alpha1.Collector{})
	left.Finalizers = nil
	g.Expect(plane.client.Update(t.Context(), left)).To(Succeed())
	awaitGone(t, collector)
}
