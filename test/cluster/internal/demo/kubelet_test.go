package demo

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestKubelet has a real API server say what the simulated node makes of pods.
func TestKubelet(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	environment := &envtest.Environment{
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute, UseExistingCluster: new(false),
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("%v (set KUBEBUILDER_ASSETS to what `go -C test/cluster run . assets etcd kube-apiserver` prints)", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := registerNode(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := newKubelet(config, node)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- kubelet.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	eventually := func(t *testing.T, what string, holds func() (bool, error)) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true,
			func(context.Context) (bool, error) { return holds() }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	pod := func(t *testing.T, name, node string, change func(*corev1.Pod)) *corev1.Pod {
		t.Helper()
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "collector", Image: "example.com/collector:1"}}},
		}
		change(p)
		if err := c.Create(ctx, p); err != nil {
			t.Fatal(err)
		}
		return p
	}

	seen := map[string]string{}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		phase  corev1.PodPhase
		ready  corev1.ConditionStatus
	}{
		"a pod runs": {func(*corev1.Pod) {}, corev1.PodRunning, corev1.ConditionTrue},
		"a pod in the network of the node runs": {func(p *corev1.Pod) {
			p.Spec.HostNetwork = true
		}, corev1.PodRunning, corev1.ConditionTrue},
		"a pod with containers that start before the others runs": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{
				{Name: "first", Image: "example.com/first:1"},
				{Name: "beside", Image: "example.com/beside:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			}
		}, corev1.PodRunning, corev1.ConditionTrue},
		"the pod of a Job succeeds": {func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			p.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "Job", Name: "check", UID: "1", Controller: new(true)},
			}
		}, corev1.PodSucceeded, corev1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(t, "pod-"+string(rune('a'+len(seen))), node.Name, test.change)
			eventually(t, "the pod is "+string(test.phase), func() (bool, error) {
				return p.Status.Phase == test.phase, c.Get(ctx, client.ObjectKeyFromObject(p), p)
			})
			if got := conditionOf(p, corev1.PodReady); got != test.ready {
				t.Errorf("Ready is %q, want %q", got, test.ready)
			}
			if inNode := p.Status.PodIP == p.Status.HostIP; inNode != p.Spec.HostNetwork {
				t.Errorf("the pod has %s on a node with %s", p.Status.PodIP, p.Status.HostIP)
			}
			if other, taken := seen[p.Status.PodIP]; taken {
				t.Errorf("the pod has the address of %s: %s", other, p.Status.PodIP)
			}
			seen[p.Status.PodIP] = name
			for _, s := range p.Status.InitContainerStatuses {
				if beside := s.State.Running != nil; beside != (s.Name == "beside") {
					t.Errorf("the state of container %s is %+v", s.Name, s.State)
				}
			}
			if len(p.Status.InitContainerStatuses) != len(p.Spec.InitContainers) {
				t.Errorf("%d statuses of init containers, want %d", len(p.Status.InitContainerStatuses), len(p.Spec.InitContainers))
			}

			// With the grace period that a pod has by default, as a controller deletes it.
			if err := c.Delete(ctx, p); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the pod has gone", func() (bool, error) {
				err := c.Get(ctx, client.ObjectKeyFromObject(p), p)
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
		})
	}

	t.Run("a pod of another node is left alone", func(t *testing.T) {
		other := pod(t, "other", "another-node", func(*corev1.Pod) {})
		own := pod(t, "own", node.Name, func(*corev1.Pod) {})
		eventually(t, "the pod that came later runs", func() (bool, error) {
			return own.Status.Phase == corev1.PodRunning, c.Get(ctx, client.ObjectKeyFromObject(own), own)
		})
		if err := c.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil || other.Status.Phase != corev1.PodPending {
			t.Errorf("%s, %v, want a pod that is pending", other.Status.Phase, err)
		}
	})
	t.Run("the node has a lease", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		eventually(t, "the lease is there", func() (bool, error) {
			err := c.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: node.Name}, lease)
			return err == nil, client.IgnoreNotFound(err)
		})
		if lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > leaseDuration {
			t.Errorf("renewed at %s", lease.Spec.RenewTime)
		}
	})
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}
