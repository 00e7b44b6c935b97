package demo

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	applycoordination "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// leaseDuration is what a real kubelet has. The node controller takes a node whose lease is not renewed for lost.
	leaseDuration = 40 * time.Second
	renewInterval = leaseDuration / 4
)

// kubelet plays the kubelet of a node without a machine: pods that are bound to the node run and are ready at once, those of Jobs succeed,
// and those that are deleted go.
type kubelet struct {
	client client.Client
	node   string
	hostIP string
	lastIP netip.Addr // of the pods on the network for benchmarks, RFC 2544; nothing routes it
}

// newKubelet returns a manager that plays the kubelet of the node until its context ends.
func newKubelet(config *rest.Config, node *corev1.Node) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Field: fields.OneTermEqualSelector("spec.nodeName", node.Name)},
		}},
	})
	if err != nil {
		return nil, err
	}
	k := &kubelet{client: mgr.GetClient(), node: node.Name, lastIP: netip.AddrFrom4([4]byte{198, 18, 0, 0})}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			k.hostIP = address.Address
		}
	}
	if err := mgr.Add(manager.RunnableFunc(k.renewLease)); err != nil {
		return nil, err
	}
	return mgr, ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Complete(k)
}

// renewLease tells the node controller that the node is alive.
func (k *kubelet) renewLease(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		lease := applycoordination.Lease(k.node, corev1.NamespaceNodeLease).WithSpec(applycoordination.LeaseSpec().
			WithHolderIdentity(k.node).WithLeaseDurationSeconds(int32(leaseDuration.Seconds())).WithRenewTime(metav1.NowMicro()))
		// What goes wrong is tried again long before the lease ends.
		_ = k.client.Apply(ctx, lease, client.FieldOwner("kubelet"), client.ForceOwnership)
	}, renewInterval)
	return nil
}

// Reconcile writes what became of a pod.
func (k *kubelet) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := k.client.Get(ctx, request.NamespacedName, pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case pod.DeletionTimestamp != nil:
		err := k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case pod.Status.Phase == corev1.PodPending:
		if k.lastIP = k.lastIP.Next(); pod.Spec.HostNetwork {
			runs(pod, k.hostIP, k.hostIP, metav1.Now())
		} else {
			runs(pod, k.hostIP, k.lastIP.String(), metav1.Now())
		}
	case pod.Status.Phase == corev1.PodRunning && ofJob(pod):
		succeeds(pod, metav1.Now())
	default:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(k.client.Status().Update(ctx, pod))
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// runs makes the status of a pod that of one whose containers run and are ready.
func runs(pod *corev1.Pod, hostIP, podIP string, now metav1.Time) {
	status := &pod.Status
	status.Phase, status.StartTime = corev1.PodRunning, &now
	status.HostIP, status.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	status.PodIP, status.PodIPs = podIP, []corev1.PodIP{{IP: podIP}}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, container := range pod.Spec.InitContainers {
		state := completed(now)
		if policy := container.RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			state = running(now)
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(container, state, true))
	}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(container, running(now), true))
	}
}

// succeeds makes the status of a running pod that of one whose containers have ended well.
func succeeds(pod *corev1.Pod, now metav1.Time) {
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, containerStatus(container, completed(now), false))
	}
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady || condition.Type == corev1.ContainersReady {
			condition.Status, condition.Reason, condition.LastTransitionTime = corev1.ConditionFalse, "PodCompleted", now
		}
	}
}

func containerStatus(container corev1.Container, state corev1.ContainerState, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, State: state, Ready: ready, Started: new(state.Running != nil),
	}
}

func running(now metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
}

func completed(now metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
}
