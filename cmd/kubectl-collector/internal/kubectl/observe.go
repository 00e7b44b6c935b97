package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
	"github.com/kube8/kube8-operator/internal/explain"
)

// observed is a Collector with its pods, events and checks.
type observed struct {
	collector *v1alpha1.Collector
	ready     v1alpha1.Condition // its reason is explain.Unknown if there is no such condition, or if pods show that it is not so
	pods      []corev1.Pod       // newest first
	revisions []history.Revision // newest first; only of a Collector that is not ready, and if the account may read the records
	checks    []batchv1.Job
	events    []corev1.Event            // newest first
	troubles  []string                  // what the events of pods that do not serve say, and what its Service lacks
	logged    string                    // what is known of the end of a log
	unseen    []string                  // what the account may not read
	may       func(command string) bool // whether the account may run a command; nil is for all
}

// neverSeen is what is known of a Collector that has no condition.
var neverSeen = v1alpha1.Condition{Reason: explain.Unknown, Message: "no operator has reconciled it yet"}

// observe reads all that the account may read about a Collector.
func (s *session) observe(ctx context.Context, name string) (*observed, error) {
	collector, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	o := &observed{collector: collector, ready: neverSeen}
	o.may = func(command string) bool { return s.mayRun(ctx, command) }
	if ready := conditionOf(collector, "Ready"); ready.Type != "" {
		o.ready = ready
	}
	var jobs batchv1.JobList
	for _, part := range []struct {
		what string
		read func() error
	}{
		{"pods", func() error { o.pods, err = s.pods(ctx, name); return err }},
		{"events", func() error { o.events, err = s.events(ctx, collector.UID); return err }},
		{"services", func() error { return s.addAddress(ctx, o) }},
		{"jobs", func() error { return s.client.List(ctx, &jobs, s.ofCollector(name)...) }},
	} {
		if part.what == "jobs" && collector.Spec.Check == nil {
			continue
		}
		err := part.read()
		if apierrors.IsForbidden(err) {
			o.unseen = append(o.unseen, part.what)
		} else if err != nil {
			return nil, fmt.Errorf("read the %s of Collector %s/%s: %w", part.what, s.namespace, name, err)
		}
	}
	o.checks = jobs.Items
	o.doubt()
	o.pods = present(o.pods)
	return o, s.addTroubles(ctx, o)
}

// present returns the pods, newest first, without those that have ended and that another one has replaced, such as an evicted pod.
func present(pods []corev1.Pod) []corev1.Pod {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		hasEnded := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		return hasEnded && pod.CreationTimestamp.Before(&pods[0].CreationTimestamp)
	})
}

// doubt takes back that all pods serve, if fewer are ready than the status has. An operator writes that into the status within 30 seconds.
func (o *observed) doubt() {
	ready := int32(0)
	for i := range o.pods {
		if explain.IsServing(&o.pods[i]) {
			ready++
		}
	}
	claimed := o.collector.Status.ReadyReplicas
	if o.ready.Status == corev1.ConditionTrue && ready < claimed && !slices.Contains(o.unseen, "pods") {
		o.ready = v1alpha1.Condition{Reason: explain.Unknown, Message: fmt.Sprintf("ready pods: %d by the status, %d in fact", claimed, ready)}
		o.collector.Status.ReadyReplicas = ready
	}
}

// maxTroubled is how many pods are asked why they do not serve: those of one Collector mostly have the same cause.
const maxTroubled = 2

// addTroubles reads what the newest warning about each of some pods says that do not serve.
func (s *session) addTroubles(ctx context.Context, o *observed) error {
	if slices.Contains(o.unseen, "events") {
		return nil
	}
	asked := 0
	for i := range o.pods {
		if o.pods[i].DeletionTimestamp != nil || explain.IsServing(&o.pods[i]) || asked == maxTroubled {
			continue
		}
		asked++
		events, err := s.events(ctx, o.pods[i].UID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(events, func(event corev1.Event) bool { return event.Type == corev1.EventTypeWarning })
		if at >= 0 {
			o.troubles = append(o.troubles, events[at].Reason+": "+strings.ReplaceAll(events[at].Message, "; ", ", "))
		}
	}
	return nil
}

// addAddress notes that a Service of type LoadBalancer has no address.
func (s *session) addAddress(ctx context.Context, o *observed) error {
	if service := o.collector.Spec.Service; service == nil || service.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	service := &corev1.Service{}
	err := s.client.Get(ctx, client.ObjectKeyFromObject(o.collector), service)
	if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
		o.troubles = append(o.troubles, "the Service has no address of a load balancer")
	}
	return client.IgnoreNotFound(err)
}

// events returns the events of an object, newest first.
func (s *session) events(ctx context.Context, of types.UID) ([]corev1.Event, error) {
	return s.eventsOf(ctx, "involvedObject.uid", string(of))
}

// eventsOf returns the events that have a field of that value, newest first.
func (s *session) eventsOf(ctx context.Context, field, value string) ([]corev1.Event, error) {
	var list corev1.EventList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace), client.MatchingFields{field: value}); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return lastSeen(&b).Compare(lastSeen(&a)) })
	return list.Items, nil
}

// lastSeen returns when an event last happened.
func lastSeen(event *corev1.Event) time.Time {
	for _, seen := range []time.Time{event.LastTimestamp.Time, event.EventTime.Time} {
		if !seen.IsZero() {
			return seen
		}
	}
	return event.CreationTimestamp.Time
}

// ago says how long ago something was, as kubectl does.
func ago(then time.Time) string {
	if then.IsZero() {
		return "unknown"
	}
	return duration.HumanDuration(time.Since(then))
}

// isBehind tells whether the operator has not reconciled the last change yet.
func (o *observed) isBehind() bool {
	return o.ready.Reason != explain.Unknown && o.ready.Reason != v1alpha1.ReasonPaused &&
		o.collector.Status.ObservedGeneration < o.collector.Generation
}

// state is the condition Ready in one line.
func (o *observed) state() string {
	switch {
	case o.isDeleted():
		return "Terminating: " + o.terminating()
	case o.ready.Reason == explain.Unknown:
		return "Unknown: " + o.ready.Message
	case o.isBehind():
		return "Progressing: the operator has not reconciled the last change yet; before it: " + o.ready.Reason
	}
	return o.ready.Reason + ": " + o.ready.Message
}

// podState is what kubectl get pods says of a pod, in short.
func podState(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
		if ended := container.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return cmp.Or(ended.Reason, "Error")
		}
	}
	return cmp.Or(pod.Status.Reason, string(pod.Status.Phase), "Unknown")
}

// lastExit says how the container of a pod that ended last did, or "-".
func lastExit(pod *corev1.Pod) string {
	var last *corev1.ContainerStateTerminated
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, ended := range []*corev1.ContainerStateTerminated{container.LastTerminationState.Terminated, container.State.Terminated} {
			if ended != nil && (last == nil || last.FinishedAt.Before(&ended.FinishedAt)) {
				last = ended
			}
		}
	}
	if last == nil {
		return "-"
	}
	reason := ""
	if last.Reason != "" {
		reason = " (" + last.Reason + ")"
	}
	return fmt.Sprintf("code %d%s, %s ago", last.ExitCode, reason, ago(last.FinishedAt.Time))
}

// images returns which images run, each once.
func (o *observed) images() string {
	var images []string
	for i := range o.pods {
		for _, container := range o.pods[i].Spec.Containers {
			if container.Name == "collector" && !slices.Contains(images, container.Image) {
				images = append(images, container.Image)
			}
		}
	}
	return strings.Join(images, ", ")
}
