package status_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/status"
)

// servingPod is a collector's pod as the API server has it, without what StripPod never keeps: %[1]s differs from pod to pod.
const servingPod = `{"metadata": {"namespace": "tenant-acme", "name": "gateway-%[1]s", "uid": "7c1c8a2e-0000-0000-0000-%[1]s",
"resourceVersion": "%[1]s", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"kube8.dev/collector": "gateway-%[1]s",
"kube8.dev/tenant-id": "1000", "kube8.dev/tenant-reference": "tenant-acme", "kube8.dev/cluster": "production",
"app.kubernetes.io/name": "collector", "app.kubernetes.io/instance": "gateway-%[1]s", "app.kubernetes.io/version": "0.150.0",
"app.kubernetes.io/managed-by": "Helm", "pod-template-hash": "7784749d5d"}}, "spec": {"serviceAccountName": "gateway-%[1]s",
"volumes": [{"name": "config", "secret": {"secretName": "gateway-%[1]s-config-0123456789"}}, {"name": "tmp", "emptyDir": {}}],
"containers": [{"name": "collector", "image": "ghcr.io/open-telemetry/opentelemetry-collector:0.150.0"}]},
"status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [
{"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
{"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
{"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
"containerStatuses": [{"name": "collector", "ready": true, "started": true, "restartCount": 0,
"image": "ghcr.io/open-telemetry/opentelemetry-collector:0.150.0", "containerID": "containerd://0123456789abcdef0123456789abcdef0123456789abcdef%[1]s",
"imageID": "ghcr.io/open-telemetry/opentelemetry-collector@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}`

func TestStripPodKeepsWhatKeepsAPodFromServing(t *testing.T) {
	serving := &corev1.Pod{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(servingPod, "%[1]s", "1")), serving); err != nil {
		t.Fatal(err)
	}
	broken := serving.DeepCopy()
	broken.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	lost := serving.DeepCopy() // as the controller of nodes leaves it, and then deletes it
	lost.Spec.NodeName, lost.DeletionTimestamp = "a", new(metav1.Now())
	lost.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want corev1.PodStatus
	}{
		"the account of one whose node is gone, also when it is deleted": {pod: lost, want: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "NodeNotReady: node a does not report",
		}},
		"nothing of a pod that serves": {pod: serving},
		"the account of one that does not, also when it is stripped again": {pod: broken, want: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "ImagePullBackOff: image ghcr.io/open-telemetry/opentelemetry-collector:0.150.0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var stripped any = test.pod
			for range 2 {
				var err error
				if stripped, err = status.StripPod(stripped); err != nil {
					t.Fatal(err)
				}
			}
			got := stripped.(*corev1.Pod)
			if diff := cmp.Diff(test.want, got.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"kube8.dev/collector": "gateway-1"}, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if uses := strings.Fields(got.Annotations["uses"]); len(uses) != 2 {
				t.Errorf("uses %q, want those of its Secret and its ServiceAccount", uses)
			}
		})
	}
}

// The messages are the kubelet's and containerd's.
func TestTheKubeletIsQuotedAndContainersAreNot(t *testing.T) {
	for name, row := range map[string]struct{ status, want string }{
		"an image that is not there": {
			`image: example.com/a:1, state: {waiting: {reason: ErrImagePull, message: 'failed to pull and unpack image "example.com/a:1": ` +
				`failed to resolve reference "example.com/a:1": example.com/a:1: not found'}}`,
			"ErrImagePull: image example.com/a:1: not found",
		},
		"an image that the registry does not give": {
			`image: acme/a:1, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "acme/a:1": ErrImagePull: failed to pull and ` +
				`unpack image "docker.io/acme/a:1": failed to resolve reference "docker.io/acme/a:1": pull access denied, repository does not exist ` +
				`or may require authorization: server message: insufficient_scope: authorization failed'}}`,
			"ImagePullBackOff: image acme/a:1: pull access denied, repository does not exist or may require authorization: server message: " +
				"insufficient_scope: authorization failed",
		},
		"a registry that is nowhere": {
			`image: example.com/a:1, state: {waiting: {reason: ErrImagePull, message: 'failed to do request: Head "https://example.com/v2/a/manifests/1": ` +
				`dial tcp: lookup example.com: no such host'}}`,
			"ErrImagePull: image example.com/a:1: dial tcp: lookup example.com: no such host",
		},
		"an image that is tried again": {
			`image: example.com/a:1, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "example.com/a:1"'}}`,
			"ImagePullBackOff: image example.com/a:1",
		},
		"a Secret that is not there": {
			`state: {waiting: {reason: CreateContainerConfigError, message: 'secret "backend" not found'}}`,
			`CreateContainerConfigError: secret "backend" not found`,
		},
		"a program that is not there": {
			`state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s}}, lastState: {terminated: {reason: StartError, exitCode: 128,
				message: "failed to create task:\n  exec: \"otelcol\": executable file not found in $PATH"}}`,
			`CrashLoopBackOff, exit code 128: exec: "otelcol": executable file not found in $PATH`,
		},
		"what a collector has printed": {
			`state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s}}, lastState: {terminated: {reason: Error, exitCode: 1, message: password=hunter2}}`,
			"CrashLoopBackOff, exit code 1",
		},
		"what a collector has printed at its end": {`state: {terminated: {reason: Error, exitCode: 1, message: password=hunter2}}`, "Error, exit code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			text := "{spec: {containers: [{name: collector}]}, status: {containerStatuses: [{" + row.status + "}]}}"
			if err := yaml.Unmarshal([]byte(text), pod); err != nil {
				t.Fatal(err)
			}
			stripped, err := status.StripPod(pod)
			if err != nil {
				t.Fatal(err)
			}
			if got := stripped.(*corev1.Pod).Status.Reason; got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// BenchmarkAPodInTheCache says how much memory a pod that serves takes in the informer cache, without the cache's own.
func BenchmarkAPodInTheCache(b *testing.B) {
	kept := make([]any, 0, b.N)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range b.N {
		pod := &corev1.Pod{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(servingPod, "%[1]s", fmt.Sprintf("%012d", i))), pod); err != nil {
			b.Fatal(err)
		}
		stripped, err := status.StripPod(pod)
		if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, stripped)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/pod")
	runtime.KeepAlive(kept)
}

func TestOnlyPodsThatServeKeepTheirAddress(t *testing.T) {
	for name, row := range map[string]struct {
		edit func(*corev1.Pod)
		want string
	}{
		"a pod of a Deployment": {func(*corev1.Pod) {}, "10.0.0.7"},
		"a pod of a DaemonSet": {func(p *corev1.Pod) {
			p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "DaemonSet", "gateway"
		}, "10.0.0.7"},
		"one that is not ready":              {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, ""},
		"one that has not started":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, ""},
		"a check":                            {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }, ""},
		"one that nothing controls":          {func(p *corev1.Pod) { p.OwnerReferences = nil }, ""},
		"one of another Deployment":          {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "gateway-other-5d4f" }, ""},
		"one whose label names another one":  {func(p *corev1.Pod) { p.Labels[v1alpha1.CollectorLabel] = "other" }, ""},
		"one of a workload of another kind":  {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Rollout" }, ""},
		"one with no hash of a pod template": {func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") }, ""},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "gateway-5d4f-a", Labels: map[string]string{v1alpha1.CollectorLabel: "gateway", "pod-template-hash": "5d4f"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "gateway-5d4f", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "collector"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: "10.0.0.7",
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}
		row.edit(pod)
		stripped, err := status.StripPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		kept := stripped.(*corev1.Pod)
		if kept.Status.PodIP != row.want || kept.Spec.HostNetwork != (row.want != "") {
			t.Errorf("%s keeps the address %q, host network %t", name, kept.Status.PodIP, kept.Spec.HostNetwork)
		}
	}
}
