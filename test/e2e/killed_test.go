//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 7.

const fleetSize = 20

func TestAnOperatorThatIsKilledInTheMiddleOfInstallsAndChecksFinishesThemLater(t *testing.T) {
	accepted, refused := createWaiting(t, newNamespace(t, "restricted"))
	namespace, pod := newNamespace(t, "restricted"), operatorPod(t)
	killer, leader := newKiller(t, pod), holder(t)
	killer.send(t, "-STOP $process")
	for i := range fleetSize {
		create(t, newCollector(namespace, fmt.Sprintf("gateway-%d", i), printing("basic")))
	}
	at, applied := map[string]int{}, 0
	for applied == 0 || applied >= at["deployed"] {
		if applied == fleetSize {
			t.Fatal("all releases were installed before one was seen in the middle of it")
		}
		// The operator goes on for as long as a part of an install takes.
		killer.send(t, "-CONT $process; sleep 0.05; kill -STOP $process")
		at, applied = releases(t, namespace), deployments(t, namespace)
	}
	killer.send(t, "-KILL $process")
	killed := time.Now()
	t.Logf("killed with releases %v, and %d Deployments", at, applied)
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: accepted.Namespace, Name: "late"}, StringData: map[string]string{"key": "value"}})

	g := NewWithT(t)
	g.Eventually(func() string { return holder(t) }).ShouldNot(Equal(leader), "the holder of the Lease")
	t.Logf("restarted, and leader again, after %s", time.Since(killed).Round(time.Second))
	var fleet v1alpha1.CollectorList
	if err := cluster.List(t.Context(), &fleet, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, collector := range fleet.Items {
		awaitReady(t, &collector)
	}
	awaitReady(t, accepted)
	awaitReadySays(t, refused, "False ConfigInvalid", "check exited with 1")
	t.Logf("all ready after %s", time.Since(killed).Round(time.Second))
	revert(t, accepted)

	after := releases(t, namespace)
	g.Expect(after).To(And(HaveKeyWithValue("deployed", fleetSize), Not(HaveKey(HavePrefix("pending")))))
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &corev1.ServiceList{},
	} {
		if err := cluster.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{collectorLabel}); err != nil {
			t.Fatal(err)
		}
		g.Expect(list).To(HaveField("Items", HaveLen(fleetSize)), "%T", list)
	}
	g.Expect(operatorPod(t)).To(And(HaveField("UID", pod.UID), HaveField("Status.ContainerStatuses",
		ConsistOf(HaveField("LastTerminationState.Terminated.ExitCode", BeEquivalentTo(137))))), "the operator was killed, and restarted")
}

// createWaiting creates two Collectors, one whose check accepts its configuration, and one whose check refuses it. The checks
// wait for a Secret with the name late.
func createWaiting(t *testing.T, namespace string) (accepted, refused *v1alpha1.Collector) {
	t.Helper()
	accepted, refused = newCollector(namespace, "accepted", printing("basic")), newCollector(namespace, "refused", refusedByTheCollector())
	for _, collector := range []*v1alpha1.Collector{accepted, refused} {
		collector.Spec.Check = &v1alpha1.Check{}
		collector.Spec.Env = []corev1.EnvVar{{Name: "LATE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "late"}, Key: "key",
		}}}}
		create(t, collector)
		awaitReadySays(t, collector, "False Checking", "checks the change")
	}
	return accepted, refused
}

// revert goes back from a configuration that the check of a Collector refuses to the one before, which was checked.
func revert(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	before := collector.Spec.Collector.Configuration
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(refusedByTheCollector()) })
	awaitReadySays(t, collector, "False ConfigInvalid", "check exited with 1")
	checks := checksOf(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = before })
	awaitReady(t, collector)
	NewWithT(t).Expect(checksOf(t, collector)).To(Equal(checks), "checks")
}

// releases returns how many releases in a namespace have which status.
func releases(t *testing.T, namespace string) map[string]int {
	t.Helper()
	var secrets corev1.SecretList
	err := cluster.List(t.Context(), &secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, secret := range secrets.Items {
		count[secret.Labels["status"]]++
	}
	return count
}

// deployments returns how many Collectors in a namespace have their Deployment. Its record is there before.
func deployments(t *testing.T, namespace string) int {
	t.Helper()
	var list appsv1.DeploymentList
	if err := cluster.List(t.Context(), &list, client.InNamespace(namespace), client.HasLabels{collectorLabel}); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// holder returns who holds the operators' Lease.
func holder(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "kube8-operator"}, lease); err != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// killer is a pod that sees the processes of its node. Deleting the operator's pod, at whatever haste, would ask the
// operator to end before killing it; and no process can kill the first one of its own container.
type killer struct {
	corev1.Pod
	process string // of the pod beside
}

// newKiller starts a killer beside a pod, whose process goes on when the test ends. It takes an image that is on the node, and the node's own shell.
func newKiller(t *testing.T, beside corev1.Pod) killer {
	t.Helper()
	node := &corev1.Node{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Name: beside.Spec.NodeName}, node); err != nil {
		t.Fatal(err)
	}
	folders := []string{"/bin", "/lib", "/usr"}
	if node.Status.NodeInfo.Architecture == "amd64" {
		folders = append(folders, "/lib64") // where its dynamic linker is
	}
	container := corev1.Container{
		Name: "killer", Image: beside.Spec.Containers[0].Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/bin/sleep", "3600"},
		SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: ptr.To[int64](0)},
	}
	k := killer{Pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t, "privileged"), Name: "killer"},
		Spec:       corev1.PodSpec{NodeName: node.Name, HostPID: true, TerminationGracePeriodSeconds: ptr.To[int64](0)},
	}}
	for _, folder := range folders {
		name := strings.TrimPrefix(folder, "/")
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: folder, ReadOnly: true})
		k.Spec.Volumes = append(k.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: folder},
		}})
	}
	k.Spec.Containers = []corev1.Container{container}
	create(t, &k.Pod)
	NewWithT(t).Eventually(func() bool { return isReady(*get(t, &k.Pod, &corev1.Pod{})) }).Should(BeTrue(), "the killer is ready")
	k.aim(t, beside)
	t.Cleanup(func() { _, _ = k.run(context.Background(), "kill -CONT "+k.process) })
	return k
}

// aim finds the process of another pod on the node.
func (k *killer) aim(t *testing.T, beside corev1.Pod) {
	t.Helper()
	// The control group of a process names its container.
	_, id, _ := strings.Cut(beside.Status.ContainerStatuses[0].ContainerID, "://")
	NewWithT(t).Eventually(func() error { // a probe that is starting, or the runtime, may be in it as well
		found, err := k.run(t.Context(), "grep -l "+id+" /proc/[0-9]*/cgroup 2>/dev/null || true")
		k.process = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(found), "/proc/"), "/cgroup")
		if _, notOne := strconv.Atoi(k.process); notOne != nil {
			return fmt.Errorf("%q: %w", found, errors.Join(notOne, err))
		}
		return nil
	}).Should(Succeed(), "the one process of pod %s", beside.Name)
}

// send runs kill on the node, with the rest of a command in which $process is the process.
func (k killer) send(t *testing.T, rest string) {
	t.Helper()
	if out, err := k.run(t.Context(), "process="+k.process+"; kill "+rest); err != nil {
		t.Fatalf("kill %s: %v\n%s", rest, err, out)
	}
}

func (k killer) run(ctx context.Context, script string) (string, error) {
	return kubectl(ctx, "exec", "-n", k.Namespace, k.Name, "--", "/bin/sh", "-c", script)
}
