package integration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// podOf creates a pod as the job controller would.
func podOf(t *testing.T, job *batchv1.Job, status corev1.PodStatus) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, GenerateName: job.Name + "-", Labels: map[string]string{
			batchv1.ControllerUidLabel: string(job.UID), batchv1.JobNameLabel: job.Name,
		}},
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

// What refuses the pod of a check is in logging-operator#2303, and what keeps it from running in logging-operator#1406 (a Secret that is
// not there).
func TestReadyTellsWhatKeepsThePodOfACheckFromRunning(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "collector", Image: "collector:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	unschedulable := corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.",
	}}}
	for name, row := range map[string]struct {
		status        corev1.PodStatus
		refusal       string
		message, next string
	}{
		"it has no node":         {status: unschedulable, message: "Unschedulable: 0/3 nodes are available", next: "No node has as much CPU"},
		"its image is not there": {status: waiting("ImagePullBackOff", "not found"), message: "ImagePullBackOff", next: "cannot pull the image"},
		"its Secret is not there": {status: waiting("CreateContainerConfigError", `secret "backend" not found`), message: `secret "backend" not found`,
			next: "takes its value from a Secret"},
		"a quota refuses it": {refusal: `pods "c" is forbidden: exceeded quota: small, requested: pods=1`, message: "exceeded quota: small",
			next: "The namespace has as many pods as its quota allows."},
		"Pod Security refuses it": {refusal: `pods "c" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes`,
			message: `violates PodSecurity "restricted:latest"`, next: "Pod Security level refuses the pods"},
		"a policy refuses it": {refusal: `pods "c" is forbidden: ValidatingAdmissionPolicy 'p' denied request`, message: "ValidatingAdmissionPolicy",
			next: "A policy of the platform refuses it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := checked(t, v1alpha1.ModeDeployment)
			reconfigure(t, collector, config+" # waits")
			job := awaitCheck(t, collector)
			if row.refusal != "" {
				say(t, job, "Job", "FailedCreate", "Error creating: "+row.refusal)
			} else {
				podOf(t, job, row.status)
			}
			awaitReady(t, collector, "False", "Checking", row.message)
			g.Expect(condition(t, collector, "Ready").Message).To(HavePrefix(fmt.Sprintf("Job %q checks the change", job.Name)))
			g.Expect(pluginIn(t, collector.Namespace).run("why", collector.Name)).To(ContainSubstring(row.next))
			giveUpCheck(t, job)
			// Ready has that reason only until the next check begins, and its event stays.
			g.Eventually(func() []string { return told(t, collector, " CheckFailed: ") }).Should(ContainElement(ContainSubstring(row.message)))
			acceptCheck(t, awaitCheck(t, collector, job.UID))
			awaitRevision(t, collector, 2)
		})
	}
}

// A failing init container was told as BackoffLimitExceeded.
func TestACheckNamesTheInitContainerThatFails(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Check = &v1alpha1.Check{}
	collector.Spec.TerminationGracePeriodSeconds = new(int64(600))
	always := corev1.ContainerRestartPolicyAlways
	collector.Spec.InitContainers = []corev1.Container{
		{Name: "setup", Image: "setup:1"},
		{Name: "proxy", Image: "proxy:1", RestartPolicy: &always, Lifecycle: &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}}}},
	}
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	job := awaitCheck(t, collector)
	g := NewWithT(t)
	g.Expect(job.Spec.Template.Spec.TerminationGracePeriodSeconds).To(HaveValue(BeEquivalentTo(2)), "a sidecar is slow to end")
	g.Expect(job.Spec.PodFailurePolicy.Rules).To(HaveLen(3), "one for disruptions, and one for each container that ends by itself")
	end(t, job, batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, fmt.Sprintf(
		"Container setup for pod %s/%s-abcde failed with exit code 3 matching FailJob rule at index 2", job.Namespace, job.Name))
	g.Eventually(func() []string { return told(t, collector, " CheckFailed: ") }).Should(ContainElement(
		ContainSubstring(`the check has no verdict: init container "setup" failed, with exit code 3; the operator tries it again`)))
	acceptCheck(t, awaitCheck(t, collector, job.UID))
	awaitRevision(t, collector, 1)
}
