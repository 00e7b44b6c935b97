package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// There are no controllers and no nodes here: the tests write what those would say of workloads and pods.

// serve has the newest version of a Collector's Deployment served by so many of its pods.
func serve(t *testing.T, collector *v1alpha1.Collector, available int32) {
	t.Helper()
	deployment := get(t, collector, "", &appsv1.Deployment{})
	before := client.MergeFrom(deployment.DeepCopy())
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation,
		Replicas:           *deployment.Spec.Replicas, UpdatedReplicas: *deployment.Spec.Replicas,
		ReadyReplicas: available, AvailableReplicas: available,
	}
	if err := plane.client.Status().Patch(t.Context(), deployment, before); err != nil {
		t.Fatal(err)
	}
}

// pod creates a pod as a Collector's workload would.
func pod(t *testing.T, collector *v1alpha1.Collector, status corev1.PodStatus) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: collector.Namespace, GenerateName: collector.Name + "-",
			Labels: map[string]string{collectorLabel: collector.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "collector", Image: "collector"}}},
	}
	if err := plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status = status
	if err := plane.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// awaitReady waits until the condition Ready has a reason and says something.
func awaitReady(t *testing.T, collector *v1alpha1.Collector, status corev1.ConditionStatus, reason, message string) {
	t.Helper()
	NewWithT(t).Eventually(func() v1alpha1.Condition { return condition(t, collector, "Ready") }).Should(And(
		HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message))))
}

// becomeReady has the one pod of a Collector serve, and waits until the status says so.
func becomeReady(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	serve(t, collector, 1)
	awaitReady(t, collector, "True", "Available", "1/1")
}

func TestReadyFollowsThePodsWithoutHelm(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(2))
	create(t, collector)
	awaitReady(t, collector, "False", "Progressing", "the workload's controller has not started the change yet")
	// The reconciles that follow the installation have seen everything once the status says nothing new.
	since, requests := shared.log.mark(), plane.audit.mark(t)

	const lastWords = "what a collector prints when it ends, such as its configuration"
	crashed := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: lastWords}
	broken := pod(t, collector, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name:                 "collector",
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: lastWords}},
		LastTerminationState: corev1.ContainerState{Terminated: &crashed},
	}}})
	serve(t, collector, 1)
	awaitReady(t, collector, "False", "PodsNotReady", "1/2 available; pod "+broken.Name+": CrashLoopBackOff, exit code 137 (OOMKilled)")
	NewWithT(t).Expect(condition(t, collector, "Ready").Message).NotTo(ContainSubstring(lastWords))

	broken.Status.ContainerStatuses[0].State.Waiting.Reason = "ImagePullBackOff"
	broken.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{}
	if err := plane.client.Status().Update(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, collector, "False", "PodsNotReady", "pod "+broken.Name+": ImagePullBackOff")

	unschedulable := pod(t, collector, corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available",
	}}})
	awaitReady(t, collector, "False", "PodsNotReady", "pod "+unschedulable.Name+": Unschedulable: 0/3 nodes are available")

	serve(t, collector, 2)
	awaitReady(t, collector, "True", "Available", "2/2 available")
	serve(t, collector, 0)
	awaitReady(t, collector, "False", "PodsNotReady", "0/2 available")
	serve(t, collector, 2)
	awaitReady(t, collector, "True", "Available", "2/2 available")

	g := NewWithT(t)
	found := get(t, collector, "", &v1alpha1.Collector{})
	g.Expect(found.Status.Replicas).To(Equal(int32(2)))
	g.Expect(found.Status.ReadyReplicas).To(Equal(int32(2)))
	for _, line := range shared.log.since(since) {
		g.Expect(strings.Contains(line.text, "preparing upgrade") && strings.Contains(line.text, collector.Namespace)).
			To(BeFalse(), "rendered for an event of a pod: %s", line.text)
	}
	g.Expect(plane.audit.all(t, requests, collector.Namespace)).To(HaveEach(Or(
		HavePrefix("patch collectors/status"), HavePrefix("create events"), HavePrefix("patch events"))))
}

func TestReadySaysThatPodsCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refusal appsv1.DeploymentCondition
		serves  bool // with the change before
		message string
	}{
		"a pod": {
			appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: pods"},
			false, "0/1 updated; FailedCreate: exceeded quota: pods",
		},
		"a ReplicaSet": {
			appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ReplicaSetCreateError", Message: "exceeded quota: sets"},
			true, "the workload's controller cannot start the change; ReplicaSetCreateError: exceeded quota: sets",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			deployment := get(t, collector, "", &appsv1.Deployment{})
			deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation}
			if row.serves {
				deployment.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
			}
			deployment.Status.Conditions = []appsv1.DeploymentCondition{row.refusal}
			if err := plane.client.Status().Update(t.Context(), deployment); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, collector, "False", "PodsNotReady", row.message)
		})
	}
}

func TestReadyKnowsEveryMode(t *testing.T) {
	t.Parallel()
	for mode, said := range map[v1alpha1.Mode]struct {
		workload client.Object
		message  string
	}{
		v1alpha1.ModeDaemonSet: {&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 1, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3, NumberAvailable: 3,
		}}, "3/3 available"},
		v1alpha1.ModeStatefulSet: {&appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		}}, "1/1 available"},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Mode = mode
			create(t, collector)
			awaitReady(t, collector, "False", "Progressing", "the workload's controller has not started the change yet")
			said.workload.SetNamespace(collector.Namespace)
			said.workload.SetName(collector.Name)
			if err := plane.client.Status().Patch(t.Context(), said.workload, client.Merge); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, collector, "True", "Available", said.message)
		})
	}
}

// kubectl runs kubectl as an administrator, and returns what it prints.
func kubectl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	return kubectlOn(t, plane.env.KubeConfig, arguments...)
}

// kubectlOn does so on the control plane of a kubeconfig.
func kubectlOn(t *testing.T, kubeconfig []byte, arguments ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestKubectlWaitsForWhatTheSpecAsksFor(t *testing.T) {
	t.Parallel()
	collector := install(t)
	wait := func(timeout string) (string, error) {
		return kubectl(t, "wait", "--for=condition=Ready", "--timeout="+timeout, "-n", collector.Namespace, "collector/gateway")
	}
	g := NewWithT(t)
	if out, err := wait("1s"); err == nil {
		t.Errorf("no pod serves, but kubectl wait says %s", out)
	}
	serve(t, collector, 1)
	out, err := wait("10s")
	g.Expect(err).NotTo(HaveOccurred(), out)

	// Its pods serve still, but not what the spec asks for now.
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	if out, err := wait("2s"); err == nil {
		t.Errorf("the new version does not serve, but kubectl wait says %s", out)
	}
	awaitRevision(t, collector, 2)
	serve(t, collector, 1)
	out, err = wait("10s")
	g.Expect(err).NotTo(HaveOccurred(), out)
}

func TestKubectlGetReadsAtAGlance(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	awaitReady(t, collector, "True", "Available", "1/1 available")
	for options, want := range map[string][]string{
		"name": {"NAME", "COLLECTOR", "VERSION", "TENANT", "CLUSTER", "READY", "STATUS", "AGE"},
		"wide": {"NAME", "COLLECTOR", "VERSION", "TENANT", "CLUSTER", "READY", "STATUS", "AGE", "PODS", "REVISION", "FLOWING", "UPDATE", "MESSAGE"},
	} {
		arguments := []string{"get", "collectors", "-n", collector.Namespace}
		if options == "wide" {
			arguments = append(arguments, "-o", "wide")
		}
		out, err := kubectl(t, arguments...)
		if err != nil {
			t.Fatal(out, err)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := strings.Fields(lines[0]); !slices.Equal(got, want) {
			t.Errorf("columns %q, want %q", got, want)
		}
		if !strings.Contains(lines[1], "True    Available") {
			t.Errorf("the line of a Collector that serves is %q", lines[1])
		}
	}
}
