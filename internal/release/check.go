package release

import (
	"fmt"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// checkedAnnotation on a Secret of files and on a workload names the Job that has accepted the content and the pods. A
// revert to what was checked needs no other check as long as the Secret is there.
const checkedAnnotation = "kube8.dev/checked"

// CheckError says that a check ended without a verdict. It is tried again, with the delays that follow failures.
type CheckError struct{ message string }

// Error names the Job, and says why it has no verdict.
func (e *CheckError) Error() string { return e.message }

// unchecked returns the Job that has not accepted yet what was rendered, or nil. Once a Job has accepted it, the Secret is
// marked so. The Job is then removed from what was rendered, so it is pruned.
func (r *actionClient) unchecked() *unstructured.Unstructured {
	at := slices.IndexFunc(r.rendered.Objects, func(object *unstructured.Unstructured) bool { return stage(object) == checks })
	if at < 0 {
		return nil
	}
	job := r.rendered.Objects[at]
	observed, _ := r.observed[refTo(job)].(*batchv1.Job)
	accepted := observed != nil && ended(observed).Type == batchv1.JobComplete
	for _, object := range r.observed {
		accepted = accepted || object.GetAnnotations()[checkedAnnotation] == job.GetName()
	}
	if !accepted {
		return job
	}
	r.rendered.Objects, r.rendered.texts = slices.Delete(r.rendered.Objects, at, at+1), slices.Delete(r.rendered.texts, at, at+1)
	for _, object := range r.rendered.Objects {
		if _, hasFiles := object.GetAnnotations()[postrender.ConfigurationAnnotation]; hasFiles || stage(object) == workloads {
			_ = unstructured.SetNestedField(object.Object, job.GetName(), "metadata", "annotations", checkedAnnotation) // a map, if any
		}
	}
	return nil
}

// check applies what a Job needs and the Job itself, and returns while it runs: the Job's end starts the next reconcile. The
// error says that the Job has refused the change, or has no verdict.
func (r *actionClient) check(job *unstructured.Unstructured) error {
	if observed, _ := r.observed[refTo(job)].(*batchv1.Job); observed != nil && ended(observed).Type != "" {
		if err := r.refusal(observed, ended(observed)); err != nil {
			return err
		}
		if err := r.drop(refTo(job), observed); err != nil {
			return err
		}
	}
	before := slices.DeleteFunc(slices.Clone(r.rendered.Objects), func(object *unstructured.Unstructured) bool {
		return stage(object) > checks
	})
	r.checking = fmt.Sprintf("Job %q checks the change; pods of the last revision still serve", job.GetName())
	return r.apply(before, true)
}

// exitCode is in what the job controller says of a pod that its failure policy ends the Job for
// (k8s.io/kubernetes, pkg/controller/job, pod_failure_policy.go).
var exitCode = regexp.MustCompile(`exit code (\d+)`)

// refusal returns the error of a Job that has not accepted the change, or nil if it must be tried again now.
func (r *actionClient) refusal(job *batchv1.Job, end batchv1.JobCondition) error {
	if code := exitCode.FindStringSubmatch(end.Message); end.Reason == batchv1.JobReasonPodFailurePolicy && code != nil {
		return &postrender.ConfigurationError{Field: postrender.ConfigurationField, Reason: fmt.Sprintf(
			"check exited with %s; run `kubectl logs -n %s job/%s`", code[1], job.GetNamespace(), job.GetName())}
	}
	if r.unjudged == job.GetUID() && !r.queue.isWaiting(r.collector) {
		return nil
	}
	r.unjudged = job.GetUID()
	return &CheckError{fmt.Sprintf("the check has no verdict: %s; the operator tries it again; see `kubectl describe -n %s job/%s`",
		end.Reason, job.GetNamespace(), job.GetName())}
}

// ended returns the condition that says how a Job ended, or an empty one.
func ended(object client.Object) (end batchv1.JobCondition) {
	if job, ok := object.(*batchv1.Job); ok {
		for _, condition := range job.Status.Conditions {
			if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
				return condition
			}
		}
	}
	return end
}
