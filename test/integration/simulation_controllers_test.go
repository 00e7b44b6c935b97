package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// control does what the controllers of Kubernetes would, until the context ends: pods become ready, Jobs end, pods are orphaned, and
// the record of a Collector that has gone is collected. Its answer was lost, and it was stored after the others were deleted.
// What cannot be written now is written after the next news.
func (s *space) control(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.history.changed:
		}
		for _, object := range s.history.now() {
			switch kind := object.GetKind(); {
			case slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents) && object.GetDeletionTimestamp() != nil:
				others := slices.DeleteFunc(object.GetFinalizers(), func(name string) bool { return name == metav1.FinalizerOrphanDependents })
				metadata := map[string]any{"finalizers": others, "resourceVersion": object.GetResourceVersion()}
				s.write(ctx, object, "", map[string]any{"metadata": metadata})
			case object.GetLabels()["owner"] == "helm" && s.history.hasGone(metav1.GetControllerOf(object)):
				_ = plane.client.Delete(ctx, object) // or it has gone already
			case metav1.GetControllerOf(object) == nil:
			case kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet":
				s.run(ctx, object)
			case kind == "Job":
				s.end(ctx, object)
			}
		}
	}
}

func (s *space) write(ctx context.Context, object *unstructured.Unstructured, subresource string, patch map[string]any) {
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err)
	}
	after := object.DeepCopy()
	raw := client.RawPatch(types.MergePatchType, text)
	if subresource == "" {
		err = plane.client.Patch(ctx, after, raw)
	} else {
		err = plane.client.SubResource(subresource).Patch(ctx, after, raw)
	}
	if err == nil && after.GetResourceVersion() != object.GetResourceVersion() {
		s.history.wrote(s.history.served, after.GetResourceVersion())
	}
}

// configurationOf returns the name of the Secret with the configuration of pods.
func configurationOf(workload *unstructured.Unstructured) string {
	volumes, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "volumes")
	for _, volume := range volumes {
		if name, found, _ := unstructured.NestedString(volume.(map[string]any), "secret", "secretName"); found {
			return name
		}
	}
	return ""
}

// run has the pods of a workload become ready, unless their configuration does not let them. Then the pods of before serve on.
func (s *space) run(ctx context.Context, o *unstructured.Unstructured) {
	pods, isSet, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !isSet {
		pods = 1
	}
	s.mutex.Lock()
	isReady := !s.neverReady[configurationOf(o)]
	s.mutex.Unlock()
	if o.GetKind() == "DaemonSet" {
		pods = 1 // on the one node
	}
	updated, ready := pods, pods
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if !isReady && observed == o.GetGeneration() && serves(o) {
		return // who is ready stays ready
	}
	if !isReady {
		deployed, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		onNodes, _, _ := unstructured.NestedInt64(o.Object, "status", "numberReady")
		updated, ready = 0, min(pods, deployed+onNodes)
	}
	status := map[string]any{"observedGeneration": o.GetGeneration()}
	set := func(value int64, fields ...string) {
		for _, field := range fields {
			status[field] = value
		}
	}
	switch o.GetKind() {
	case "DaemonSet":
		set(1, "desiredNumberScheduled", "currentNumberScheduled")
		set(updated, "updatedNumberScheduled")
		set(ready, "numberReady", "numberAvailable")
		set(1-ready, "numberUnavailable")
		set(0, "numberMisscheduled")
	default:
		set(pods, "replicas")
		set(updated, "updatedReplicas")
		set(ready, "readyReplicas", "availableReplicas")
	}
	if before, _, _ := unstructured.NestedMap(o.Object, "status"); !includes(before, status) {
		s.write(ctx, o, "status", map[string]any{"status": status})
	}
}

// includes tells whether numbers are as they should be; one that is left out is 0.
func includes(has, wants map[string]any) bool {
	for field, value := range wants {
		number, _ := has[field].(int64)
		if number != value.(int64) {
			return false
		}
	}
	return true
}

// end ends a Job as the verdict on its configuration says.
func (s *space) end(ctx context.Context, job *unstructured.Unstructured) {
	told, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	if len(told) > 0 || job.GetDeletionTimestamp() != nil {
		return
	}
	s.mutex.Lock()
	verdict := s.verdicts[configurationOf(job)]
	s.mutex.Unlock()
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	status := map[string]any{"startTime": now}
	ends := func(before, condition batchv1.JobConditionType, reason, message string) {
		var conditions []any
		for _, step := range []batchv1.JobConditionType{before, condition} {
			conditions = append(conditions, map[string]any{
				"type": step, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now,
			})
		}
		status["conditions"] = conditions
	}
	exits := func(code int) string {
		return fmt.Sprintf("Container collector for pod %s/%s-abcde failed with exit code %d matching FailJob rule at index 1",
			s.namespace, job.GetName(), code)
	}
	switch verdict {
	case "refused":
		ends(batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, exits(3))
	case "killed":
		ends(batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, exits(137))
	case "late":
		ends(batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	default:
		status["completionTime"] = now
		ends(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "CompletionsReached", "")
	}
	s.write(ctx, job, "status", map[string]any{"status": status})
}
