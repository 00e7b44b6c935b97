package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// defaultHold is for how long canary pods have to be ready, if spec.canary does not say.
const defaultHold = "5m"

// canary returns what spec.canary says and what is known of the change. It is nil if nothing can be rendered. Without spec.canary it is
// nil, or the defaults for the operator's own changes.
func (r *reconcile) canary() (*plan.Canary, error) {
	fields, isSet, _ := unstructured.NestedMap(r.collector.Object, "spec", "canary")
	if r.rendered.Hash == "" || !isSet && !r.Canary {
		return nil, nil
	}
	asked := v1alpha1.Canary{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &asked); err != nil {
		return nil, fmt.Errorf("read spec.canary: %w", err)
	}
	hold, err := time.ParseDuration(cmp.Or(asked.Hold, defaultHold))
	if err != nil {
		return nil, fmt.Errorf("read spec.canary.hold: %w", err)
	}
	annotations := r.collector.GetAnnotations()
	c := &plan.Canary{
		Pods: intstr.FromInt32(1), Hold: hold, Pauses: asked.OnFailure == v1alpha1.CanaryPause, IsManual: asked.Approval == v1alpha1.CanaryManual,
		Promoted: annotations[v1alpha1.PromoteAnnotation], Aborted: annotations[v1alpha1.AbortAnnotation],
		OfOperator: !isSet, Proven: r.proven, Template: r.deployed.Template, Last: r.reportedCanary(),
	}
	if asked.Pods != nil {
		c.Pods = *asked.Pods
	}
	return c, nil
}

// compare has a proof look at pods. Where the spec has a flow, the proof also knows how data flows through the canary pods, beside the
// others.
func (r *reconcile) compare(s *plan.Situation, pods []live.Pod) {
	s.Canary.See(pods)
	switch isLacking := s.LacksCanary(); {
	case !isLacking:
		r.lacking = time.Time{}
	case r.lacking.IsZero():
		r.lacking = s.Now
	}
	if s.Canary != nil {
		s.Canary.Lacking = r.lacking
	}
	if _, has, _ := unstructured.NestedFieldNoCopy(r.collector.Object, "spec", "flow"); !has || s.Canary == nil || r.Flows == nil {
		return
	}
	wanted := plan.TemplateOf(s.Want.First(render.Workloads))
	verdicts, began := r.Flows(r.collector)
	s.Canary.Flow = new(flow.Compare(split(pods, verdicts, wanted)))
	s.Canary.Flow.Began = began
}

// split returns the verdicts of pods with a template, and those of the others. isAlone tells that there are no others. Pods without a stamp
// are others, too.
func split(pods []live.Pod, verdicts map[types.UID]flow.Verdict, template string) (canaries, others []flow.Verdict, isAlone bool) {
	isAlone = true
	for _, pod := range pods {
		isCanary := pod.Template == template
		isAlone = isAlone && (isCanary || pod.Deleting)
		switch verdict, isKnown := verdicts[pod.UID]; {
		case !isKnown:
		case isCanary:
			canaries = append(canaries, verdict)
		default:
			others = append(others, verdict)
		}
	}
	return canaries, others, isAlone
}

// reportedCanary returns the change that the status tells of, or an empty one.
func (r *reconcile) reportedCanary() (reported v1alpha1.CanaryStatus) {
	fields, _, _ := unstructured.NestedMap(r.collector.Object, "status", "canary")
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &reported) // what cannot be read was never written
	return reported
}

// tests tells the status which change is tested, and how far that is, or why it cannot be.
func (r *reconcile) tests(p plan.Plan) {
	r.unproven, r.outcome.Proven = p.Unproven, r.outcome.Proven || p.Proven
	if p.Proven {
		r.proven = r.rendered.Hash
	}
	if r.outcome.Canary, r.outcome.Proof = p.Canary, p.Proof; p.Proof != "" {
		r.outcome.Proof += fmt.Sprintf("; the other pods serve revision %d", r.deployed.Revision)
	}
}

// reportUnproven tells that a change was deployed although no canary has proven it, and why.
func (r *reconcile) reportUnproven(err error) {
	if err == nil && r.unproven != "" {
		r.Events.Eventf(r.collector, corev1.EventTypeWarning, "NotProven", "the change is deployed without a proof: %s", r.unproven)
	}
}

// isRolledBack tells whether a reconcile ended with a change that canary pods have failed to prove, or that a user has aborted.
func isRolledBack(err error) bool { return errors.As(err, new(*plan.CanaryError)) }

// countCanary counts a canary that has ended in this reconcile.
func (r *reconcile) countCanary(err error) {
	before := r.reportedCanary()
	switch {
	case isRolledBack(err) && before.RolledBack == "":
		r.Metrics.Proved(metrics.RolledBack)
	case r.outcome.Proven && strings.HasPrefix(r.deployed.Hash(), before.Hash):
		r.Metrics.Proved(metrics.Proven)
	}
}
