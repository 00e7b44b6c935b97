package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// templateOf returns the pod template of a Collector's workload.
func templateOf(t *testing.T, collector *v1alpha1.Collector) corev1.PodTemplateSpec {
	t.Helper()
	switch collector.Spec.Mode {
	case v1alpha1.ModeStatefulSet:
		return get(t, collector, "", &appsv1.StatefulSet{}).Spec.Template
	case v1alpha1.ModeDaemonSet:
		return get(t, collector, "", &appsv1.DaemonSet{}).Spec.Template
	case v1alpha1.ModeDeployment:
	}
	return get(t, collector, "", &appsv1.Deployment{}).Spec.Template
}

// startPod creates a pod of a template, as the controller of a workload would.
func startPod(t *testing.T, collector *v1alpha1.Collector, of corev1.PodTemplateSpec) *corev1.Pod {
	t.Helper()
	isController := true
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: collector.Name + "-1", UID: "of-the-set", Controller: &isController}
	switch collector.Spec.Mode {
	case v1alpha1.ModeStatefulSet:
		owner.Kind, owner.Name = "StatefulSet", collector.Name
	case v1alpha1.ModeDaemonSet:
		owner.Kind, owner.Name, owner.UID = "DaemonSet", collector.Name, get(t, collector, "", &appsv1.DaemonSet{}).UID
	case v1alpha1.ModeDeployment:
	}
	pod := &corev1.Pod{ObjectMeta: *of.ObjectMeta.DeepCopy(), Spec: *of.Spec.DeepCopy()}
	pod.Labels["pod-template-hash"] = "1"
	pod.Namespace, pod.GenerateName, pod.OwnerReferences = collector.Namespace, collector.Name+"-", []metav1.OwnerReference{owner}
	if err := plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// tell writes the status of a pod, as the kubelet would.
func tell(t *testing.T, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	t.Helper()
	change(&pod.Status)
	if err := plane.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// readyFor returns a status of a pod that has been ready for so long.
func readyFor(d time.Duration) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase, status.PodIP, status.PodIPs = corev1.PodRunning, "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
		status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-d)),
		}}
	}
}

// crashes is the status of a pod whose container ends at once.
func crashes(status *corev1.PodStatus) {
	status.Conditions = nil
	status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "collector", RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: secret}},
	}}
}

// withCanary creates a Collector of three pods, or of one on each node, that have been ready for a day.
func withCanary(t *testing.T, mode v1alpha1.Mode, canary v1alpha1.Canary) *v1alpha1.Collector {
	t.Helper()
	collector := install(t, func(c *v1alpha1.Collector) {
		if c.Spec.Mode, c.Spec.Canary = mode, &canary; mode != v1alpha1.ModeDaemonSet {
			c.Spec.Replicas = new(int32(3))
		}
	})
	for range 3 {
		tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(24*time.Hour))
	}
	serveThree(t, collector)
	awaitReady(t, collector, "True", "Available", "3/3")
	return collector
}

// serveThree has three pods of a Collector's workload serve.
func serveThree(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	var object client.Object
	switch collector.Spec.Mode {
	case v1alpha1.ModeStatefulSet:
		set := get(t, collector, "", &appsv1.StatefulSet{})
		set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
		object = set
	case v1alpha1.ModeDaemonSet:
		set := get(t, collector, "", &appsv1.DaemonSet{})
		set.Status = appsv1.DaemonSetStatus{
			ObservedGeneration: set.Generation, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3,
			NumberAvailable: 3,
		}
		object = set
	case v1alpha1.ModeDeployment:
		serve(t, collector, 3)
		return
	}
	if err := plane.client.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// limits returns what limits how many pods a workload changes.
func limits(t *testing.T, collector *v1alpha1.Collector) map[string]any {
	t.Helper()
	switch collector.Spec.Mode {
	case v1alpha1.ModeStatefulSet:
		return map[string]any{"partition": *get(t, collector, "", &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition}
	case v1alpha1.ModeDaemonSet:
		spec := get(t, collector, "", &appsv1.DaemonSet{}).Spec
		return map[string]any{
			"isLong": spec.MinReadySeconds > 80000, "surge": spec.UpdateStrategy.RollingUpdate.MaxSurge.String(),
		}
	case v1alpha1.ModeDeployment:
	}
	spec := get(t, collector, "", &appsv1.Deployment{}).Spec
	return map[string]any{"isLong": spec.MinReadySeconds > 80000, "surge": spec.Strategy.RollingUpdate.MaxSurge.String()}
}

// canaries are the limits of each kind with one canary pod, and without.
var canaries = map[v1alpha1.Mode][2]map[string]any{
	v1alpha1.ModeDeployment:  {{"isLong": true, "surge": "1"}, {"isLong": false, "surge": "1"}},
	v1alpha1.ModeStatefulSet: {{"partition": int32(2)}, {"partition": int32(0)}},
	v1alpha1.ModeDaemonSet:   {{"isLong": true, "surge": "1"}, {"isLong": false, "surge": "1"}},
}

// How many changes have ended how, as the operator counts them.
const endedProven, endedRolledBack = `kube8_canaries_total{result="proven"}`, `kube8_canaries_total{result="rolled_back"}`

const otherConfig = `receivers: {otlp: {protocols: {grpc: {}}}}
exporters: {debug: {}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}`

func TestAChangeThatCrashesGoesBackAndIsDeployedWhenItIsPromoted(t *testing.T) {
	t.Parallel()
	for mode, want := range canaries {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), withCanary(t, mode, v1alpha1.Canary{})
			before, counted := templateOf(t, collector), value(t, endedRolledBack)
			reconfigure(t, collector, otherConfig)
			awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
			g.Expect(limits(t, collector)).To(Equal(want[0]))
			canary := startPod(t, collector, templateOf(t, collector))
			tell(t, canary, readyFor(time.Second))
			awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) prove the change until ")
			g.Expect(condition(t, collector, "Ready").Message).To(HaveSuffix("; the other pods serve revision 1"))
			g.Expect(revisions(t, collector)).To(HaveLen(2))

			tell(t, canary, crashes)
			awaitReady(t, collector, "False", "RolledBack", "pod "+canary.Name+": CrashLoopBackOff, exit code 1")
			g.Expect(templateOf(t, collector).Annotations).To(Equal(before.Annotations))
			g.Expect(limits(t, collector)).To(Equal(want[1]))
			g.Expect(revisions(t, collector)).To(HaveLen(1))
			g.Expect(value(t, endedRolledBack)).To(BeNumerically(">", counted), "other tests count, too")
			g.Expect(plane.client.Delete(t.Context(), canary, client.GracePeriodSeconds(0))).To(Succeed())
			serveThree(t, collector)
			touch(t, collector)
			awaitReady(t, collector, "False", "RolledBack", "pod "+canary.Name)
			g.Expect(templateOf(t, collector).Annotations).To(Equal(before.Annotations))

			g.Expect(pluginIn(t, collector.Namespace).run("promote", "gateway")).To(ContainSubstring("promoted: change "))
			awaitRevision(t, collector, 2)
			g.Expect(limits(t, collector)).To(Equal(want[1]))
			g.Expect(templateOf(t, collector).Annotations[postrender.TemplateAnnotation]).NotTo(Equal(before.Annotations[postrender.TemplateAnnotation]))
			g.Eventually(func() *v1alpha1.CanaryStatus { return get(t, collector, "", &v1alpha1.Collector{}).Status.Canary }).Should(BeNil())
			g.Eventually(func() map[string]int { return events(t, collector) }).Should(And(
				HaveKey(ContainSubstring("CanaryStarted")), HaveKey(ContainSubstring("RolledBack"))))
		})
	}
}

func TestAChangeThatItsPodsHaveProvenReachesAllPods(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), withCanary(t, v1alpha1.ModeDeployment, v1alpha1.Canary{Hold: "3s"})
	reconfigure(t, collector, otherConfig)
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
	tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(0))
	awaitRevision(t, collector, 2)
	g.Expect(limits(t, collector)).To(Equal(canaries[v1alpha1.ModeDeployment][1]))
	serveThree(t, collector)
	awaitReady(t, collector, "True", "Available", "3/3")
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(And(
		HaveKey(ContainSubstring("Proven")), HaveKey(ContainSubstring("Upgraded"))))
	g.Expect(revisions(t, collector)).To(HaveLen(2))
}

func TestAChangeThatIsAbortedGoesBack(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), withCanary(t, v1alpha1.ModeDeployment, v1alpha1.Canary{Hold: "0s", Approval: v1alpha1.CanaryManual})
	p := pluginIn(t, collector.Namespace)
	out, failure := p.try("abort", "gateway")
	g.Expect(out + failure).To(ContainSubstring("cannot be aborted: it does not prove itself, and Ready is Available"))
	reconfigure(t, collector, otherConfig)
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
	tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(time.Second))
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) have proven the change, which waits until you promote it")
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(ContainSubstring("AwaitsApproval")))
	g.Expect(p.run("abort", "gateway")).To(ContainSubstring("aborted: change "))
	awaitReady(t, collector, "False", "RolledBack", "the change is aborted")
	g.Expect(limits(t, collector)).To(Equal(canaries[v1alpha1.ModeDeployment][1]))
	g.Expect(revisions(t, collector)).To(HaveLen(1))
}

func TestAnOperatorThatStartsGoesOnWithACanaryAndRepairsTheRest(t *testing.T) {
	g, collector := NewWithT(t), withCanary(t, v1alpha1.ModeDeployment, v1alpha1.Canary{Hold: "1h"})
	reconfigure(t, collector, otherConfig)
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
	pod := startPod(t, collector, templateOf(t, collector))
	tell(t, pod, readyFor(time.Second))
	before := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(shared.kill()).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &corev1.Service{}))).To(Succeed())
	g.Expect(shared.start(t.Context())).To(Succeed())
	g.Expect(value(t, endedProven)).To(BeZero(), "the operator is new, and no other test runs")
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &corev1.Service{})
	}).Should(Succeed())
	after := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(after.ResourceVersion).To(Equal(before.ResourceVersion), "the canary is left alone")
	tell(t, pod, readyFor(time.Hour))
	awaitRevision(t, collector, 2)
	g.Expect(revisions(t, collector)).To(HaveLen(2))
	g.Eventually(func() float64 { return value(t, endedProven) }).Should(BeEquivalentTo(1))
	g.Expect(value(t, endedRolledBack)).To(BeZero())
}
