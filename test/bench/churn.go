package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// churnFigures say what flapping pods cost.
type churnFigures struct {
	Collectors        int     `json:"collectors"`
	FlapsPerSecond    float64 `json:"flapsPerSecond"`
	CPUPercent        float64 `json:"cpuPercentOfOneCore"`
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	WritesPerSecond   float64 `json:"writesPerSecond"`
}

// churning is the mode that measures what pods cost that flap: each fails or recovers once a second, and its Deployment
// says so. No controllers run, so the bench writes what they would write.
func (b *bench) churning(ctx context.Context) (err error) {
	if err := b.populate(ctx, b.churn, b.secrets, b.deployments); err != nil {
		return err
	}
	l := &life{bench: b, system: ours, n: b.churn}
	defer func() { err = errors.Join(err, l.process.stop()) }()
	if err := l.install(ctx); err != nil {
		return err
	}
	pods, err := b.createPods(ctx)
	if err != nil {
		return err
	}
	for _, healthy := range []bool{false, true} { // once, so that there is a status to change
		err := each(ctx, writers, pods, func(ctx context.Context, pod *flapping) error { return pod.set(ctx, b.plane.client, healthy) })
		if err != nil {
			return err
		}
	}
	if _, err := b.awaitQuiet(ctx, l.process); err != nil {
		return err
	}
	if err := l.profiled(ctx, "churn", func() error { return nil })(); err != nil {
		return err
	}
	b.say("  flapping for %d s", b.churnSeconds)
	used, err := l.process.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	flaps, err := b.flap(ctx, pods)
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	after, err := l.process.cpu()
	if err != nil {
		return err
	}
	if err := l.askProfiler(ctx, "/stop"); err != nil {
		return err
	}
	requests, err := b.plane.audit.since(l.process.account)
	if err != nil {
		return err
	}
	writes := counts{}.add(requests)
	b.result.Churn = &churnFigures{
		Collectors:        b.churn,
		FlapsPerSecond:    float64(flaps) / seconds,
		CPUPercent:        100 * (after - used).Seconds() / seconds,
		RequestsPerSecond: float64(len(requests)) / seconds,
		WritesPerSecond:   float64(writes) / seconds,
	}
	return l.process.alive()
}

// flapping is a pod that flaps, and its Deployment.
type flapping struct {
	pod        *corev1.Pod
	deployment *appsv1.Deployment
	healthy    bool
}

// createPods creates a pod for each Collector, as the Deployment has it.
func (b *bench) createPods(ctx context.Context) ([]*flapping, error) {
	var deployments appsv1.DeploymentList
	if err := b.plane.client.List(ctx, &deployments, client.HasLabels{v1alpha1.CollectorLabel}); err != nil {
		return nil, err
	}
	var pods []*flapping
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: deployment.Namespace, Name: deployment.Name + "-0", Labels: deployment.Spec.Template.Labels,
			},
			Spec: deployment.Spec.Template.Spec,
		}
		if err := b.plane.client.Create(ctx, pod); err != nil {
			return nil, fmt.Errorf("create pod: %w", err)
		}
		pods = append(pods, &flapping{pod: pod, deployment: deployment})
	}
	return pods, nil
}

// flap changes every pod's state once a second, evenly spread, and returns how often in all.
func (b *bench) flap(ctx context.Context, pods []*flapping) (int, error) {
	ticker := time.NewTicker(time.Second / time.Duration(len(pods)))
	defer ticker.Stop()
	wanted := b.churnSeconds * len(pods)
	for i := range wanted {
		select {
		case <-ctx.Done():
			return i, ctx.Err()
		case <-ticker.C:
		}
		pod := pods[i%len(pods)]
		if err := pod.set(ctx, b.plane.client, !pod.healthy); err != nil {
			return i, err
		}
	}
	return wanted, nil
}

// set writes the status of a pod that serves, or of one that has crashed, and what its Deployment then says.
func (f *flapping) set(ctx context.Context, c client.Client, healthy bool) error {
	f.healthy = healthy
	pod, deployment := f.pod.DeepCopy(), f.deployment.DeepCopy()
	container := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: healthy}
	ready, available := corev1.ConditionFalse, int32(0)
	if healthy {
		ready, available = corev1.ConditionTrue, 1
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	} else {
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	}
	f.pod.Status = corev1.PodStatus{
		Phase:             corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{container},
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}},
	}
	f.deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1,
		ReadyReplicas: available, AvailableReplicas: available, UnavailableReplicas: 1 - available,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: ready, LastTransitionTime: metav1.Now()},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	return errors.Join(
		c.Status().Patch(ctx, f.pod, client.MergeFrom(pod)),
		c.Status().Patch(ctx, f.deployment, client.MergeFrom(deployment)),
	)
}
