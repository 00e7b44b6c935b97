package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
)

// maxTroubles is how many pods in trouble are named: those of one workload mostly have the same.
const maxTroubles = 2

// troubles says what keeps pods of collector from serving, newest pods first. A pod that has ended is over once there is a newer one.
func (w writer) troubles(ctx context.Context, collector *unstructured.Unstructured, workload *Workload) ([]string, error) {
	if workload.isDone() {
		return nil, nil
	}
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(collector.GetNamespace()),
		client.MatchingLabels{v1alpha1.CollectorLabel: collector.GetName()}); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", collector.GetName(), err)
	}
	found := list.Items // not by slices.SortFunc, which copies two pods for each comparison
	sort.Slice(found, func(i, j int) bool {
		return cmp.Or(found[j].CreationTimestamp.Compare(found[i].CreationTimestamp.Time), cmp.Compare(found[i].Name, found[j].Name)) < 0
	})
	var newest metav1.Time
	if len(found) > 0 {
		newest = found[0].CreationTimestamp
	}
	troubles := append(slices.Clone(workload.troubles), w.refusal(ctx, collector, workload, newest)...)
	for i := range found {
		isOver := cache.HasEnded(&found[i]) && found[i].CreationTimestamp.Before(&newest)
		if trouble := troubleOf(&found[i]); trouble != "" && !isOver && len(troubles) < maxTroubles {
			troubles = append(troubles, "pod "+found[i].Name+": "+trouble)
		}
	}
	return troubles, nil
}

// troublesOfCheck says what keeps the pod of a Job from running. The informer cache does not have this pod.
func (w writer) troublesOfCheck(ctx context.Context, collector *unstructured.Unstructured, job types.UID) ([]string, error) {
	var troubles []string
	var newest metav1.Time
	err := live.Each(ctx, w.apiReader, &corev1.PodList{}, func(item runtime.Object) error {
		pod, is := item.(*corev1.Pod)
		if !is {
			return nil
		}
		if newest.Before(&pod.CreationTimestamp) {
			newest = pod.CreationTimestamp
		}
		if trouble := troubleOf(pod); trouble != "" && len(troubles) < maxTroubles {
			troubles = append(troubles, "pod "+pod.Name+": "+cache.BoundedMessage(trouble))
		}
		return nil
	}, client.InNamespace(collector.GetNamespace()), client.MatchingLabels{batchv1.ControllerUidLabel: string(job)})
	if err != nil {
		return nil, fmt.Errorf("list pods of the check of %s: %w", collector.GetName(), err)
	}
	wanted := &Workload{Pods: live.Pods{Wanted: 1}, teller: job, lacks: true}
	return append(w.refusal(ctx, collector, wanted, newest), troubles...), nil
}

// mostEvents is how many events about a workload are looked at, however many a tenant has created. client-go tells at most 25 of an object
// at once, and one more every 5 minutes. The API server keeps events for an hour: that are 37.
const mostEvents = 48

// errEnough ends a list.
var errEnough = errors.New("no more are looked at")

// refusal returns why a DaemonSet, StatefulSet or Job has fewer pods than it should, or fewer with its last change, by its newest event
// that says so. Only its events do. An event from before the newest pod is over. An operator that may not read events says less.
func (w writer) refusal(ctx context.Context, collector *unstructured.Unstructured, workload *Workload, newest metav1.Time) []string {
	if workload.teller == "" || workload.Behind || !workload.lacks {
		return nil
	}
	last, seen := &corev1.Event{}, 0
	err := live.Each(ctx, w.apiReader, &corev1.EventList{}, func(item runtime.Object) error {
		if event, is := item.(*corev1.Event); is && lastSeen(event).After(lastSeen(last)) {
			last = event
		}
		if seen++; seen == mostEvents {
			return errEnough
		}
		return nil
	}, client.InNamespace(collector.GetNamespace()),
		client.MatchingFields{"involvedObject.uid": string(workload.teller), "reason": "FailedCreate"})
	if err != nil && !errors.Is(err, errEnough) || last.Reason == "" || lastSeen(last).Before(newest.Time) {
		return nil
	}
	return []string{last.Reason + ": " + cache.BoundedMessage(last.Message)}
}

// lastSeen returns when an event last happened.
func lastSeen(event *corev1.Event) time.Time {
	seen := []time.Time{event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		seen = append(seen, event.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(seen, time.Time.Compare)
}

// unpulled are the reasons of containers without their image, and explained those of others that the kubelet or the runtime explains. These
// messages have no output of a container.
var (
	unpulled  = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
	explained = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)

// notStarted are the reasons of ended containers that the runtime could not start. Their message is the runtime's.
var notStarted = []string{"StartError", "ContainerCannotRun"}

// troubleOf says what keeps a pod from serving, or nothing. Messages of containers that ran are left out: a collector prints
// what it likes.
func troubleOf(pod *corev1.Pod) string {
	isStripped := len(pod.Spec.Containers) == 0 // its trouble is known, and its conditions have no reasons
	switch {
	case !isStripped && isLost(pod):
		return "NodeNotReady: node " + pod.Spec.NodeName + " does not report"
	case !isStripped && pod.DeletionTimestamp != nil:
		return ""
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting, ended := container.State.Waiting, container.State.Terminated
		switch {
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			return waiting.Reason + exit(container.LastTerminationState.Terminated) + explanation(container)
		case ended != nil && ended.ExitCode != 0:
			return ended.Reason + exit(ended)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason + ": " + condition.Message
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return cmp.Or(pod.Status.Reason, "Failed")
	}
	return ""
}

// isLost tells whether the node of a pod does not report. Then Kubernetes sets Ready to False without a reason, and leaves containers
// ready. A kubelet always gives a reason.
func isLost(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
	})
}

// explanation returns what the kubelet or the runtime says of a container that does not start, after a colon.
func explanation(of corev1.ContainerStatus) string {
	waiting, ended, message := of.State.Waiting, of.LastTerminationState.Terminated, ""
	switch {
	case slices.Contains(unpulled, waiting.Reason):
		message = "image " + of.Image
		if cause := layers.FindStringSubmatch(waiting.Message); cause != nil {
			message += ": " + strings.TrimPrefix(cause[1], of.Image+": ")
		}
	case slices.Contains(explained, waiting.Reason):
		message = waiting.Message
	case ended != nil && slices.Contains(notStarted, ended.Reason):
		message = ended.Message
	}
	if message == "" {
		return ""
	}
	message = strings.Join(strings.Fields(message), " ")
	if at := strings.LastIndex(message, "exec: "); at >= 0 { // what comes before is the runtime's own
		message = message[at:]
	}
	return ": " + message
}

// layers finds the cause behind what the kubelet and the runtime say before it. Each of them names the image or an address.
var layers = regexp.MustCompile(`(?s)^.*"[^"]*": (.+)$`)

func exit(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended == nil:
		return ""
	case ended.Reason == "OOMKilled":
		return fmt.Sprintf(", exit code %d (OOMKilled)", ended.ExitCode)
	}
	return fmt.Sprintf(", exit code %d", ended.ExitCode)
}

// StripPod leaves of a pod in the cache what keeps it from serving, and what the pod uses. Of a pod that can be no Collector's it leaves
// the name. It is for cache.ByObject.
func StripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || len(pod.Spec.Containers) == 0 {
		return obj, nil // the last known state of a deleted pod, or stripped before
	}
	stripped := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	if !isOfWorkload(pod) {
		return stripped, nil
	}
	stripped.CreationTimestamp, stripped.DeletionTimestamp = pod.CreationTimestamp, pod.DeletionTimestamp
	stripped.Labels = map[string]string{v1alpha1.CollectorLabel: pod.Labels[v1alpha1.CollectorLabel]}
	cache.KeepPod(&stripped.ObjectMeta, pod)
	live.KeepProof(stripped, pod)
	if serves(pod) {
		stripped.Spec.HostNetwork, stripped.Status.PodIP = pod.Spec.HostNetwork, pod.Status.PodIP
	}
	if trouble := troubleOf(pod); trouble != "" {
		stripped.Status.Phase, stripped.Status.Reason = corev1.PodFailed, cache.BoundedMessage(trouble)
	}
	return stripped, nil
}

// serves tells whether a pod is ready, and of the workload of the Collector in its label. Only such a pod keeps its address.
func serves(pod *corev1.Pod) bool {
	owner, collector := metav1.GetControllerOfNoCopy(pod), pod.Labels[v1alpha1.CollectorLabel]
	isOfReplicaSet := owner != nil && owner.Kind == "ReplicaSet" && owner.Name == collector+"-"+pod.Labels["pod-template-hash"]
	if owner == nil || owner.Kind == "Job" || owner.Name != collector && !isOfReplicaSet || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	return cache.IsReady(pod)
}

// isOfWorkload tells whether the controller of a pod can be a workload or a Job of the Collector in its label. A pod that nothing controls
// can have lost it.
func isOfWorkload(pod *corev1.Pod) bool {
	owner, collector := metav1.GetControllerOfNoCopy(pod), pod.Labels[v1alpha1.CollectorLabel]
	if owner == nil {
		return true
	}
	switch owner.Kind {
	case "StatefulSet", "DaemonSet":
		return owner.Name == collector
	case "ReplicaSet", "Job":
		return strings.HasPrefix(owner.Name, collector+"-")
	}
	return false
}
