package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A change that is deployed before its canary pods have proven it is not Proven.
func TestOnlyWhatCanaryPodsHaveProvenIsProven(t *testing.T) {
	t.Parallel()
	const unproven = "Warning NotProven: the change is deployed without a proof: annotation kube8.dev/promote promotes it"
	for name, row := range map[string]struct {
		canary   v1alpha1.Canary
		isProven bool
		decide   func(*testing.T, *v1alpha1.Collector)
		want     string
	}{
		"a change that is promoted early": {decide: promote, want: unproven},
		"a change that is promoted once it is proven": {
			canary: v1alpha1.Canary{Hold: "0s", Approval: v1alpha1.CanaryManual}, isProven: true, decide: promote, want: "Normal Proven: canary pods have proven change ",
		},
		"a change whose spec asks for no proof any more": {
			decide: func(t *testing.T, collector *v1alpha1.Collector) {
				t.Helper()
				change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Canary = nil })
			}, want: "Normal Upgraded: to revision 2, configuration changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), withCanary(t, v1alpha1.ModeDeployment, row.canary)
			reconfigure(t, collector, otherConfig)
			awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
			if row.isProven {
				tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(time.Second))
				awaitReady(t, collector, "False", "Proving", "have proven the change")
			}
			row.decide(t, collector)
			awaitRevision(t, collector, 2)
			g.Eventually(func() map[string]int { return events(t, collector) }).Should(And(HaveKey(HavePrefix(row.want)), HaveKey(ContainSubstring(" Upgraded: "))))
			g.Expect(len(told(t, collector, " Proven: "))).To(Equal(map[bool]int{true: 1}[row.isProven]))
		})
	}
}

// promote has the plugin promote the change of a Collector.
func promote(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	pluginIn(t, collector.Namespace).run("promote", collector.Name)
}

// told returns the events of a Collector that have some words.
func told(t *testing.T, collector *v1alpha1.Collector, words string) (found []string) {
	t.Helper()
	for event := range events(t, collector) {
		if strings.Contains(event, words) {
			found = append(found, event)
		}
	}
	return found
}

// Without pods, no address of the metrics is wrong.
func TestACollectorWithoutPodsClaimsNoData(t *testing.T) {
	t.Parallel()
	const ip = "127.77.8.1"
	var in atomic.Int64
	collector := watched(t, ip, fakePages(t, ip, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "otelcol_receiver_accepted_spans_total %[1]d\notelcol_exporter_sent_spans_total %[1]d\n", in.Add(10))
	}))
	awaitFlow(t, collector, "True", v1alpha1.ReasonFlowing)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(0)) })
	g := NewWithT(t)
	g.Expect(plane.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(collector.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
	serve(t, collector, 0)
	awaitReady(t, collector, "True", "Available", "0/0 available; no pods are asked for")
	awaitFlow(t, collector, "Unknown", v1alpha1.ReasonUnreachable)
	p := pluginIn(t, collector.Namespace)
	g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("The Collector is scaled to 0."), ContainSubstring("or none is ready")))
	g.Expect(p.run("status", "gateway")).To(ContainSubstring("Next: Unless you want that, change `spec.replicas` or the autoscaler."))
}

// The API server refuses pods of a class that is not there when their controller creates them, not the workload.
func TestAPriorityClassThatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	for mode, kind := range map[v1alpha1.Mode]string{
		v1alpha1.ModeDeployment: "Deployment", v1alpha1.ModeDaemonSet: "DaemonSet", v1alpha1.ModeStatefulSet: "StatefulSet",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.PriorityClassName = mode, "absent" })
			g, pod := NewWithT(t), &corev1.Pod{Spec: templateOf(t, collector).Spec}
			pod.Namespace, pod.Name = collector.Namespace, "refused"
			refusal := plane.client.Create(t.Context(), pod)
			g.Expect(refusal).To(MatchError(ContainSubstring("no PriorityClass with name absent was found")))
			switch mode {
			case v1alpha1.ModeDeployment:
				deployment := get(t, collector, "", &appsv1.Deployment{})
				deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, UnavailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentReplicaFailure, Status: "True", Reason: "FailedCreate", Message: refusal.Error(), LastUpdateTime: metav1.Now()},
				}}
				g.Expect(plane.client.Status().Update(t.Context(), deployment)).To(Succeed())
			case v1alpha1.ModeDaemonSet:
				set := get(t, collector, "", &appsv1.DaemonSet{})
				say(t, set, kind, "FailedCreate", "Error creating: "+refusal.Error())
				set.Status = appsv1.DaemonSetStatus{ObservedGeneration: set.Generation, DesiredNumberScheduled: 1}
				g.Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
			case v1alpha1.ModeStatefulSet:
				set := get(t, collector, "", &appsv1.StatefulSet{})
				say(t, set, kind, "FailedCreate", "create Pod gateway-0 in StatefulSet gateway failed error: "+refusal.Error())
				set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
				g.Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
			}
			awaitReady(t, collector, "False", "PodsNotReady", "no PriorityClass with name absent was found")
			p := pluginIn(t, collector.Namespace)
			g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("FailedCreate: "), ContainSubstring("The cluster has no such PriorityClass."),
				ContainSubstring("Correct `spec.priorityClassName`."), ContainSubstring("kubectl get priorityclasses")))
			g.Expect(p.run("status", "gateway")).To(ContainSubstring("Next: Correct `spec.priorityClassName`."))
		})
	}
}
