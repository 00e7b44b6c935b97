package plan

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/render"
)

// endless is a number of seconds, 34 days. No canary pod counts as available to the Deployment controller for so long, so the other pods
// stay. It has to outlast every proof, also while no operator runs. progressDeadlineSeconds must be greater.
const endless = 3_000_000

// limit returns the form of a workload with the canary. A finalizer or a check may have kept the workload from having that form until it
// was too late for canary pods. The canary begins anew then.
func (s *Situation) limit(workload *render.Object, c *Canary, pods int32) (form render.Object, err error) {
	form, err = s.form(workload, pods, c.Last.Since.Time)
	if err != nil || s.View.Objects[workload.Ref].Hash == form.Hash || !c.isMissed(TemplateOf(workload), s.Now) {
		return form, err
	}
	c.Last.Since = s.second()
	return s.form(workload, pods, c.Last.Since.Time)
}

// form returns the wanted workload in a form that changes no more than some pods, and keeps the number of pods as it is. None of these
// fields is in the pod template, so the workload's own form rolls no pod again.
//
// A StatefulSet's controller changes no pod while as many as maxUnavailable are not ready, also pods that keep their revision. So there is
// room for these.
//
// A DaemonSet's controller replaces each old pod at once that has not been ready for minReadySeconds. So these are as long as the old pods
// had been ready when the proof began. It also replaces each old pod at once that is not ready, and these count in maxUnavailable. So there
// is room for both, or no healthy node would have a canary pod while another node is down. minReadySeconds grow with the canary pods, so
// that none of them ever counts as available, or the next pod would change.
func (s *Situation) form(workload *render.Object, pods int32, since time.Time) (render.Object, error) {
	content, running := workload.Content.DeepCopy(), s.running(workload.Ref)
	fields := map[string]any{}
	switch workload.Ref.Kind().Kind {
	case "Deployment":
		fields["strategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": limits(pods, render.Surges(content, "strategy"))}
		fields["minReadySeconds"], fields["progressDeadlineSeconds"] = int64(endless), int64(math.MaxInt32)
	case "StatefulSet":
		rolling, _, _ := unstructured.NestedMap(content.Object, "spec", "updateStrategy", "rollingUpdate")
		if rolling == nil {
			rolling = map[string]any{}
		}
		rolling["partition"] = int64(running - pods)
		if down := s.Canary.stuck(TemplateOf(workload), since); down > 0 {
			rolling["maxUnavailable"] = int64(down + share(intstr.Parse(fmt.Sprint(rolling["maxUnavailable"])), running)) // 1 by default
		}
		fields["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}
	case "DaemonSet":
		isSurging := render.Surges(content, "updateStrategy")
		if !isSurging {
			pods += s.Canary.stuck(TemplateOf(workload), since)
		}
		fields["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": limits(pods, isSurging)}
		stamp := TemplateOf(workload)
		ready, _ := s.Canary.outlasts(stamp, since, s.Now)
		fields["minReadySeconds"] = int64(min(ready.Seconds(), endless))
	}
	if workload.SetsReplicas {
		fields["replicas"] = int64(running)
	}
	render.Annotate(content, v1alpha1.CanaryAnnotation, s.shortHash()) // or a canary of all pods of a StatefulSet would be its own form
	for name, value := range fields {
		if err := unstructured.SetNestedField(content.Object, value, "spec", name); err != nil {
			return render.Object{}, fmt.Errorf("limit the canary pods of %s: %w", workload.Ref, err)
		}
	}
	return render.NewObject(content)
}

// triesOf returns further dry runs of a workload that changes canary pods. If it has immutable fields, its claims may grow after the proof,
// and that is tried before. isUnchanged tells that only what its pods mount changes now: that must not be if the workload is refused later.
func (s *Situation) triesOf(form *render.Object, isUnchanged bool) (tries []apply.Step, err error) {
	found, isImmutable := s.Immutable[form.Ref]
	var grown, again *apply.Step
	if isImmutable {
		if grown, err = s.step(s.Want.Has(form.Ref), &Plan{}); err != nil {
			return nil, err
		}
	}
	if isUnchanged {
		seen := s.View.Objects[form.Ref]
		again = &apply.Step{Ref: form.Ref, Object: form, UID: seen.UID, CoOwned: seen.CoOwned}
		if isImmutable { // it keeps the sizes that its claims have
			if again, err = s.within(again, found); err != nil {
				return nil, err
			}
		}
	}
	for _, step := range []*apply.Step{grown, again} {
		if step != nil {
			step.Action = apply.Try
			tries = append(tries, *step)
		}
	}
	return tries, nil
}

// limits returns the limits of a rolling update that changes some pods: beside the others, or in their place.
func limits(pods int32, isSurging bool) map[string]any {
	if isSurging {
		return map[string]any{"maxSurge": int64(pods), "maxUnavailable": int64(0)}
	}
	return map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(pods)}
}
