//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// workloads return what runs pods, by the mode.
var workloads = map[v1alpha1.Mode]func() client.Object{
	v1alpha1.ModeDeployment:  func() client.Object { return &appsv1.Deployment{} },
	v1alpha1.ModeStatefulSet: func() client.Object { return &appsv1.StatefulSet{} },
	v1alpha1.ModeDaemonSet:   func() client.Object { return &appsv1.DaemonSet{} },
}

// Not parallel: as long as the base is bad, no change of the operator goes further.
func TestABaseThatCrashesIsRolledBackInTheFirstRingAndReachesNoOther(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { testRings(t, mode) })
	}
}

func testRings(t *testing.T, mode v1alpha1.Mode) {
	t.Helper()
	g := NewWithT(t)
	base := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "e2e-rings-" + string(mode), Labels: map[string]string{v1alpha1.BaseLabel: "first"}},
		Data:       map[string]string{"part.yaml": sharedPart},
	}
	create(t, base)
	t.Cleanup(func() { _ = cluster.Delete(context.Background(), base) })
	rewrite := func(content string) {
		before := base.DeepCopy()
		base.Data["part.yaml"] = content
		g.Expect(cluster.Patch(t.Context(), base, client.MergeFrom(before))).To(Succeed())
	}
	var fleet []*v1alpha1.Collector
	for _, ring := range []string{"0", "0", "1"} { // the overdue ones must be of two namespaces
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: newNamespace(t, "restricted")}}
		before := get(t, namespace, namespace).DeepCopy()
		namespace.Labels[v1alpha1.RingLabel] = ring
		g.Expect(cluster.Patch(t.Context(), namespace, client.MergeFrom(before))).To(Succeed())
		collector := newCollector(namespace.Name, "gateway", ownPart)
		collector.Spec.Collector.Bases, collector.Spec.Canary = []v1alpha1.Base{{Name: base.Name}}, &v1alpha1.Canary{Hold: shortHold.String()}
		twoPods(collector, mode)
		create(t, collector)
		fleet = append(fleet, collector)
	}
	var seen []*counted
	for _, collector := range fleet {
		awaitReady(t, collector)
		seen = append(seen, census(t, collector))
	}
	last, told := fleet[2], seen[2].of.Status.Bases
	untouched := get(t, last, workloads[mode]())

	rewrite(strings.NewReplacer("receivers: [otlp]", "receivers: [otlp, otlp/nowhere]", "exporters: {debug",
		`receivers: {otlp/nowhere: {protocols: {http: {endpoint: "192.0.2.1:4318"}}}}`+"\nexporters: {debug").Replace(sharedPart))
	t.Run("both Collectors in ring 0 go back", func(t *testing.T) {
		for _, each := range seen[:2] {
			t.Run(each.of.Namespace, func(t *testing.T) {
				t.Parallel() // each has its own minute
				each.awaitBack(t, crashTime, crashed...)
			})
		}
	})
	g.Eventually(func() (string, error) {
		return kubectl(t.Context(), "get", "events", "-n", fleet[0].Namespace, "--field-selector=reason=RolloutHeld")
	}).
		Should(ContainSubstring("canary pods have failed to prove the operator's change; with 2 overdue Collectors"))
	g.Expect(conditionOf(get(t, last, &v1alpha1.Collector{}), v1alpha1.UpdatePending)).To(Equal("True Waiting"))
	g.Expect(get(t, last, workloads[mode]()).GetGeneration()).To(Equal(untouched.GetGeneration()), "the workload in ring 1")
	g.Expect(seen[2].changed()).To(BeEmpty(), "pods in ring 1 with the bad base")
	seen[2].checkOld(t)

	for _, collector := range fleet {
		census(t, collector) // pods of a DaemonSet are old enough again
	}
	rewrite(strings.Replace(sharedPart, "detailed", "normal", 1))
	for _, collector := range fleet {
		g.Eventually(func() []string { return get(t, collector, &v1alpha1.Collector{}).Status.Bases }).
			ShouldNot(Equal(told), "the bases that its pods have")
		awaitReady(t, collector)
	}
}
