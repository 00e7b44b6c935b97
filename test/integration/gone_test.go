package integration

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// endsWithTest takes the finalizers of an object away when the test ends.
func endsWithTest(t *testing.T, object client.Object) {
	t.Helper()
	t.Cleanup(func() {
		letGo := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
		if err := plane.client.Patch(context.Background(), object, letGo); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// onNode installs a Collector with a pod that is ready, and its node's name.
func onNode(t *testing.T) (*v1alpha1.Collector, *corev1.Pod) {
	t.Helper()
	collector := install(t)
	template := templateOf(t, collector)
	template.Spec.NodeName, template.Finalizers = "node-a", []string{holdFinalizer} // a pod on such a node does not end
	pod := startPod(t, collector, template)
	endsWithTest(t, pod)
	tell(t, pod, func(status *corev1.PodStatus) {
		readyFor(time.Hour)(status)
		status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "collector", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}},
		}
	})
	becomeReady(t, collector)
	return collector, pod
}

// A kubelet that does not report, and a pod of it that does not end, are reported of many (k3s-io/k3s#1303, coreos/etcd-operator#1281,
// kubernetes/kubernetes#27882). The controller of nodes sets Ready to False without a reason, and deletes the pod minutes later.
func TestANodeThatDoesNotReportIsTold(t *testing.T) {
	t.Parallel()
	collector, pod := onNode(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("why", "gateway")).To(ContainSubstring("is ready"))
	tell(t, pod, func(status *corev1.PodStatus) { status.Conditions[0].Status = corev1.ConditionFalse })
	deployment := get(t, collector, "", &appsv1.Deployment{})
	deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas, deployment.Status.UnavailableReplicas = 0, 0, 1
	g.Expect(plane.client.Status().Update(t.Context(), deployment)).To(Succeed())
	for _, state := range []string{"lost", "deleted, too"} {
		told := "0/1 available; pod " + pod.Name + ": NodeNotReady: node node-a does not report"
		awaitReady(t, collector, "False", "PodsNotReady", told)
		g.Expect(p.run("why", "gateway")).To(And(ContainSubstring(told), ContainSubstring("The pod's node does not report."),
			ContainSubstring("kubectl get nodes"), ContainSubstring("What serves meanwhile\n  no pod")), state)
		g.Expect(p.run("status", "gateway")).To(ContainSubstring("Next: Repair or delete the node."), state)
		g.Expect(p.run("list", "-o", "wide")).To(MatchRegexp(`gateway +False +PodsNotReady .*NodeNotReady`), state)
		g.Expect(plane.client.Delete(t.Context(), pod, client.GracePeriodSeconds(1))).To(Succeed())
		touch(t, collector)
	}
}

// A sidecar that is ready keeps no collector beside it from being told.
func TestWhyLooksAtEachPodThatIsNotReady(t *testing.T) {
	t.Parallel()
	collector := install(t)
	pod := podFrom(t, collector, corev1.PodStatus{
		Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "collector"}, {Name: "proxy", Ready: true}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}},
	})
	say(t, pod, "Pod", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
	serve(t, collector, 0)
	awaitReady(t, collector, "False", "PodsNotReady", "0/1 available")
	NewWithT(t).Expect(pluginIn(t, collector.Namespace).run("why", "gateway")).To(And(
		ContainSubstring("Pods that do not serve\n  "+pod.Name), ContainSubstring("does not answer its probe")))
}

// Not parallel: the operator is stopped, as one whose namespace was deleted, or that no longer watches this one. Then the conditions stay.
func TestThePluginDoesNotSayThatAllServesWherePodsAreGone(t *testing.T) {
	collector, pod := onNode(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("status", "gateway")).To(MatchRegexp(`Ready +Available`))
	g.Expect(shared.stop()).To(Succeed())
	t.Cleanup(func() { startAgain(t) })
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), pod)).To(Succeed())
	g.Expect(p.run("why", "gateway")).To(And(MatchRegexp(`^The state of Collector \S+/gateway is unknown, .*: ready pods: 1 by the status, 0 in fact\.`),
		Not(ContainSubstring("is ready"))))
	g.Expect(p.run("status", "gateway")).To(And(MatchRegexp(`Ready +Unknown: ready pods: 1 by the status, 0 in fact`), MatchRegexp(`Pods +0 of 1 ready`)))
}

// A Collector that is paused gets no workload again, and says so. Once it is deleted, nothing can resume it.
func TestAPausedCollectorWhoseWorkloadIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	collector := install(t, func(c *v1alpha1.Collector) { c.Finalizers = []string{holdFinalizer} })
	endsWithTest(t, collector)
	pause(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
	awaitReady(t, collector, "Unknown", "Paused", "no workload is there")
	g.Expect(p.run("list")).To(MatchRegexp(`gateway +Unknown +Paused`))
	g.Expect(plane.client.Delete(t.Context(), collector.DeepCopy())).To(Succeed())
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(ContainSubstring(" Uninstalled: ")))
	g.Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring(" Resumed: ")))
	g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("is being deleted: "), Not(ContainSubstring("kubectl collector resume"))))
}
