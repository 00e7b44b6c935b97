package integration

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// crashed is the status of a pod whose collector exits with 2 again and again.
func crashed() corev1.PodStatus {
	ended := metav1.NewTime(time.Now().Add(-2 * time.Minute))
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "collector", RestartCount: 7,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 2, Reason: "Error", Message: "printed by the collector", FinishedAt: ended,
		}},
	}}}
}

// serving is the status of a pod that serves.
func serving() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

func TestThePluginShowsAStatusOnOneScreen(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	pod(t, collector, crashed())
	serve(t, collector, 0)
	awaitReady(t, collector, "False", "PodsNotReady", "CrashLoopBackOff")
	out := p.run("status", "gateway")
	for _, line := range []string{
		`Collector +` + collector.Namespace + `/gateway, of tenant acme on cluster prod-eu-1`,
		`Ready +PodsNotReady: 0/1 available; pod gateway-\w+: CrashLoopBackOff, exit code 2`,
		`Image +collector`, `Configuration +` + sha256Of(config)[:10], `Revision +1`, `Pods +0 of 1 ready, mode deployment`, `Check +none; `,
		`gateway-\w+ +0/1 +CrashLoopBackOff +7 +code 2 \(Error\), 2m\d*s? ago +- +\d+s`,
		`\d+s +Installed +version 0.150.0, as revision 1`,
		`Next: Read its log\. `, `kubectl collector why gateway -n ` + collector.Namespace,
	} {
		g.Expect(out).To(MatchRegexp(`(?m)^ *` + line))
	}
	g.Expect(out).NotTo(Or(ContainSubstring("printed by"), ContainSubstring("may not read")))

	pause(t, collector)
	reconfigure(t, collector, another)
	g.Expect(p.run("status", "gateway")).To(ContainSubstring("the spec asks for " + sha256Of(another)[:10] + ", which is not deployed"))
	p.refuses("there is no Collector agent", "status", "agent")
}

func TestThePluginFollowsAStatusInATerminal(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	screen := p.open("true", "status", "gateway", "--watch")
	screen.expect("Progressing: ")
	pod(t, collector, serving())
	serve(t, collector, 1)
	screen.expect("\x1b[2J\x1b[H")
	screen.expect("Available: 1/1 available")
	screen.interrupt()
	g.Expect(screen.end()).To(Succeed())

	cmd := p.command("status", "gateway", "-w")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4096)
	n, err := out.Read(piece)
	g.Expect(string(piece[:n])).To(HavePrefix("Collector "), "without a terminal, nothing is cleared; %v", err)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	g.Expect(cmd.Wait()).To(Succeed())
}

func TestThePluginExplainsWhyACollectorIsNotReady(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	pod(t, collector, crashed())
	serve(t, collector, 0)
	awaitReady(t, collector, "False", "PodsNotReady", "CrashLoopBackOff")
	name := collector.Namespace + "/gateway"
	g.Expect(p.run("why", "gateway")).To(And(
		MatchRegexp(`^Collector `+name+` is not ready, for \w+: PodsNotReady\n  0/1 available; pod gateway`),
		MatchRegexp(`Pods that do not serve\n  gateway-\w+ is CrashLoopBackOff; its last exit: code 2 \(Error\)`),
		ContainSubstring("The collector starts, and ends by itself."), ContainSubstring("kubectl collector logs gateway -n "+collector.Namespace),
		ContainSubstring("Kube8CollectorNotReady"),
	))

	reconfigure(t, collector, another)
	job := awaitCheck(t, collector)
	g.Expect(p.run("status", "gateway")).To(MatchRegexp(`Check +Job ` + job.Name + ` runs`))
	g.Expect(p.run("why", "gateway")).To(ContainSubstring(": Checking\n"))
	refuseCheck(t, job)
	awaitReady(t, collector, "False", "ConfigInvalid", "check exited with 3")
	g.Expect(p.run("status", "gateway")).To(MatchRegexp(`Check +Job ` + job.Name + `: Failed PodFailurePolicy`))
	g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("check exited with 3"), ContainSubstring("From the runbook Kube8ConfigRejected")))

	pod(t, collector, serving())
	serve(t, collector, 1)
	reconfigure(t, collector, config)
	awaitReady(t, collector, "True", "Available", "")
	g.Expect(p.run("why", "gateway")).To(And(HavePrefix("Collector "+name+" is ready, for "), Not(ContainSubstring("runbook"))))
	pause(t, collector)
	g.Expect(p.run("why", "gateway")).To(HavePrefix("Collector " + name + " is paused, for "))
}

func TestThePluginSaysWhatAViewerDoesNotSee(t *testing.T) {
	t.Parallel()
	collector := install(t)
	pod(t, collector, crashed())
	p, g := pluginOf(t, kubeconfigWith(t, collector.Namespace, "kube8-operator-collector-viewer")), NewWithT(t)
	g.Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	unseen := "Your account may not read pods and events in namespace " + collector.Namespace
	g.Expect(p.run("status", "gateway")).To(And(ContainSubstring("opentelemetry-collector 0.150.0 (no pod seen)"), ContainSubstring(unseen)))
	g.Expect(p.run("why", "gateway")).To(And(HavePrefix("Collector "+collector.Namespace+"/gateway is not ready"), ContainSubstring(unseen)))
	g.Expect(p.run("config", "get", "gateway")).To(Equal(config))
	for _, command := range [][]string{{"restart", "gateway"}, {"pause", "gateway"}, {"config", "set", "gateway", "--yes", "--from-file", p.write("new.yaml", another)}} {
		p.refuses("your account may not change Collector "+collector.Namespace+"/gateway; ask for a binding of the ClusterRole kube8-operator-collector-editor", command...)
	}
	for _, command := range [][]string{{"config", "get", "gateway", "--revision", "1"}, {"rollback", "gateway", "--yes"}, {"config", "diff", "gateway"}} {
		p.refuses("ask for the verbs get and list on secrets", command...)
	}
	p.refuses("forbidden", "logs", "gateway")
	p.refuses("forbidden", "history", "gateway")

	p = pluginOf(t, editorKubeconfig(t, collector.Namespace))
	g.Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	g.Expect(p.run("status", "gateway")).NotTo(ContainSubstring("may not read"), "with the role collector-editor")
	g.Expect(p.run("history", "gateway")).To(MatchRegexp(`\d+s  Installed version 0.150.0, as revision 1`), "by the events")
}
