package kubectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/plan"
)

const (
	// preflightLabel is on the Job, the pod and the Secret of a preflight, with the Collector's name as its value.
	preflightLabel = "kube8.dev/preflight"

	// keptSeconds is how long Kubernetes keeps a Job that has ended and that was not removed.
	keptSeconds = 300

	// grace is how much longer than a Job may take the plugin waits for its end: that is the time of the Job controller.
	grace = 10 * time.Second

	// logLines is how much of the end of a log is searched for the reason.
	logLines = "20"

	// logBytes is how much of these lines is read: a collector can write its configuration as one line.
	logBytes = "65536"
)

// trial is a check of a Collector with another version: the Job of the operator, and a Secret with the files that it mounts.
type trial struct {
	*session
	job    *batchv1.Job
	secret *corev1.Secret // nil if the files are in Secrets of the user
}

// prepare returns the trial of a Collector. If there is none, one says why.
func (s *session) prepare(ctx context.Context, renderer *offline.Renderer, one *forecast, f preflight) *trial {
	present, err := s.whole(ctx, one.Name)
	if err != nil {
		one.Reason = oneLine(err.Error())
		return nil
	}
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(present.Object, append([]string{"spec"}, path...)...)
		return text
	}
	one.Version = field("collector", "version")
	_, isChecked, _ := unstructured.NestedFieldNoCopy(present.Object, "spec", "check")
	name := field("collector", "name")
	if isOther := strings.Contains(name, "/") || field("collector", "format") == string(v1alpha1.FormatRaw); isOther && !isChecked {
		one.Reason = "spec.check does not say how " + name + " checks its configuration"
		return nil
	}
	if renderer.Bases, err = s.basesOf(ctx, present); err != nil {
		one.Reason = oneLine("its collector starts with bases of the platform, too, and these are not known: " + err.Error())
		return nil
	}
	before, _, err := checkOf(ctx, renderer, present, one.Version)
	if refused, is := errors.AsType[offline.ProblemsError](err); is {
		one.Reason = oneLine("is refused with its present version, too: " + refused.Error())
		return nil
	}
	t := &trial{session: s}
	if err == nil {
		t.job, t.secret, err = checkOf(ctx, renderer, present, f.version)
	}
	if refused, is := errors.AsType[offline.ProblemsError](err); is {
		one.Verdict, one.Reason = fails, oneLine(refused.Error())
		return nil
	}
	if err != nil {
		one.Reason = oneLine(err.Error())
		return nil
	}
	image := &t.job.Spec.Template.Spec.Containers[0].Image
	isPinned := field("image", "tag")+field("image", "digest") != ""
	if isPinned && one.Version != f.version && *image == before.Spec.Template.Spec.Containers[0].Image {
		one.Reason = "spec.image decides which image runs, whatever the version"
		return nil
	}
	if field("image", "registry") == "" && field("image", "repository") == "" {
		*image = mirrored(*image, s.imageOf(ctx, present))
	}
	if f.timeout > 0 {
		t.job.Spec.ActiveDeadlineSeconds = new(int64(f.timeout.Seconds()))
	}
	t.rename(one.Name)
	return t
}

// basesOf returns the bases that a Collector or its namespace names, with the content that they have in the deployed revision.
func (s *session) basesOf(ctx context.Context, collector *unstructured.Unstructured) ([]any, error) {
	named, _, _ := unstructured.NestedSlice(collector.Object, "spec", "collector", "bases")
	deployed, _, _ := unstructured.NestedSlice(collector.Object, "status", "bases")
	if len(named)+len(deployed) == 0 {
		return nil, nil
	}
	revisions, err := history.Of(ctx, s.client, collector)
	if err != nil {
		return nil, fmt.Errorf("read the records of its revisions: %w", err)
	}
	if len(revisions) == 0 {
		return nil, errors.New("nothing is deployed")
	}
	for _, base := range named {
		if name, _ := at(base, "name").(string); !revisions[0].HasBase(name) {
			return nil, fmt.Errorf("%s is without base %s", revisions[0], name)
		}
	}
	return revisions[0].Bases(ctx, s.client, s.namespace)
}

// rename gives Job and Secret a name and labels of their own, so that neither the operator nor a NetworkPolicy takes them for the
// Collector's. The Job mounts the Secret by that name.
func (t *trial) rename(collector string) {
	name := strings.TrimSuffix(collector[:min(len(collector), 46)], "-") + "-preflight-" + rand.String(5)
	mark := func(labels map[string]string) {
		delete(labels, v1alpha1.CollectorLabel)
		delete(labels, checkLabel)
		labels[preflightLabel] = collector
	}
	t.job.Name, t.job.Spec.TTLSecondsAfterFinished = name, new(int32(keptSeconds))
	mark(t.job.Labels)
	mark(t.job.Spec.Template.Labels)
	if t.secret == nil {
		return
	}
	for _, volume := range t.job.Spec.Template.Spec.Volumes {
		if volume.Secret != nil && volume.Secret.SecretName == t.secret.Name {
			volume.Secret.SecretName = name
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil && source.Secret.Name == t.secret.Name {
				source.Secret.Name = name
			}
		}
	}
	t.secret.Name = name
	mark(t.secret.Labels)
}

// run runs the check, and leaves its objects to remove.
func (t *trial) run(ctx context.Context) (verdict, string) {
	if err := t.client.Create(ctx, t.job); err != nil {
		return unknown, oneLine(fmt.Sprintf("its Job cannot be created: %v", err))
	}
	if t.secret != nil { // after the Job, so that it goes with that if this is killed; the pod waits for it
		t.secret.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "Job", Name: t.job.Name, UID: t.job.UID},
		}
		if err := t.client.Create(ctx, t.secret); err != nil {
			return unknown, oneLine(fmt.Sprintf("the Secret of its Job cannot be created: %v", err))
		}
	}
	most := grace
	if seconds := t.job.Spec.ActiveDeadlineSeconds; seconds != nil {
		most += time.Duration(*seconds) * time.Second
	}
	var ended *batchv1.JobCondition
	_ = wait.PollUntilContextTimeout(ctx, period/2, most, false, func(ctx context.Context) (bool, error) {
		err := t.client.Get(ctx, client.ObjectKeyFromObject(t.job), t.job)
		for _, condition := range t.job.Status.Conditions {
			isEnd := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
			if isEnd && condition.Status == corev1.ConditionTrue {
				ended = &condition
			}
		}
		return ended != nil || apierrors.IsNotFound(err), nil // another error can be a moment's
	})
	switch {
	case ctx.Err() != nil:
		return unknown, "interrupted"
	case ended == nil:
		return unknown, t.obstacle(ctx, "its Job did not end in "+most.String())
	case ended.Type == batchv1.JobComplete:
		return passes, ""
	}
	exit := plan.ExitOf(ended.Reason, ended.Message)
	switch {
	case exit.Refuses():
		return fails, oneLine(fmt.Sprintf("exit code %d%s", exit.Code, t.said(ctx)))
	case exit.Container != "":
		return unknown, exit.Message()
	}
	return unknown, t.obstacle(ctx, ended.Reason)
}

// said returns what the collector said when it refused.
func (t *trial) said(ctx context.Context) string {
	var pods corev1.PodList
	err := t.client.List(ctx, &pods, client.InNamespace(t.namespace), client.MatchingLabels{batchv1.JobNameLabel: t.job.Name})
	if err != nil || len(pods.Items) == 0 {
		return ""
	}
	text, err := t.endOfLog(ctx, pods.Items[0].Name, false)
	lines := strings.TrimSpace(text)
	if err != nil || lines == "" {
		return ""
	}
	if _, reason, found := strings.Cut(lines, "Error: "); found { // as the OpenTelemetry Collector begins it
		return ": " + reason
	}
	return ": " + lines[strings.LastIndex(lines, "\n")+1:]
}

// endOfLog returns the last lines of what the collector of a pod prints, or of what it printed before it was started again.
func (s *session) endOfLog(ctx context.Context, pod string, previous bool) (string, error) {
	text, err := raw(ctx, s.rest.Get().AbsPath("/api/v1/namespaces/"+s.namespace+"/pods/"+pod+"/log").
		Param("container", "collector").Param("tailLines", logLines).Param("limitBytes", logBytes).
		Param("previous", strconv.FormatBool(previous)).SetHeader("Accept", "*/*"))
	return string(text), err
}

// obstacle says why there is no verdict, by the newest warning about the Job and its pods. The Job's events name the pods, which can be
// gone.
func (t *trial) obstacle(ctx context.Context, reason string) string {
	found, err := t.events(ctx, t.job.UID)
	if err != nil {
		return reason // which says less
	}
	for _, event := range found {
		if pod, isCreated := strings.CutPrefix(event.Message, "Created pod: "); isCreated {
			more, _ := t.eventsOf(ctx, "involvedObject.name", pod)
			found = append(found, more...)
		}
	}
	slices.SortFunc(found, func(a, b corev1.Event) int { return lastSeen(&b).Compare(lastSeen(&a)) })
	for _, event := range found {
		if event.Type == corev1.EventTypeWarning && event.Reason != reason {
			return oneLine(reason + "; " + event.Reason + ": " + event.Message)
		}
	}
	return reason
}

// remove removes what was created, also after Ctrl-C. The error names what is left.
func (t *trial) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	left := func(kind string, err error) error {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && t.job.UID == "" { // which was not created
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s %s/%s was not deleted: %s", kind, t.namespace, t.job.Name, oneLine(err.Error()))
		}
		return nil
	}
	errs := []error{left("Job", t.client.Delete(ctx, t.job, client.PropagationPolicy(metav1.DeletePropagationBackground)))}
	if t.secret != nil {
		errs = append(errs, left("Secret", t.client.Delete(ctx, t.secret)))
	}
	return errors.Join(errs...)
}
