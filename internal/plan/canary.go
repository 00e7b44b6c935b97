package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

// Canary is what spec.canary says, and what is known of the change that has to prove itself.
type Canary struct {
	// Pods is how many pods get the change first, or what percentage, and Hold for how long they have to be ready.
	Pods intstr.IntOrString
	Hold time.Duration

	// Pauses leaves canary pods as they are after a failure. IsManual has a proven change wait until it is promoted.
	Pauses, IsManual bool

	// OfOperator leaves out what the operator has not brought: the owner has asked for no canary.
	OfOperator bool

	// Promoted and Aborted are hashes of changes that a user has decided about, as Hash has them.
	Promoted, Aborted string

	// Proven is the hash of the change that canary pods had proven before the API server refused it, or empty.
	Proven string

	// Template is the stamp of the pod template of the deployed revision. It is empty if that has none.
	Template string

	// Last is the last change that the status tells of.
	Last v1alpha1.CanaryStatus

	// keepsFailed tells that pods of a canary that has failed are left to the user. They may have the template of the next change.
	keepsFailed bool

	// Seen are the pods with a stamp, by their names. Shown is how many pods of a DaemonSet the informer cache shows, by its UID, and Ready
	// how many of them are ready.
	Seen         []live.Pod
	Shown, Ready map[types.UID]int32

	// Lacking is since when fewer canary pods than asked for are there, or zero.
	Lacking time.Time

	// Refusal is why pods with the change cannot be made, if that is known.
	Refusal string

	// Flow is how data flows through the pods with the change, beside the others. It is nil where the spec has no flow.
	Flow *flow.Comparison
}

// See has a proof look at pods. Those without a stamp prove nothing.
func (c *Canary) See(pods []live.Pod) {
	if c != nil {
		c.Seen = slices.DeleteFunc(slices.Clone(pods), func(pod live.Pod) bool { return pod.Template == "" })
		slices.SortFunc(c.Seen, func(a, b live.Pod) int { return cmp.Compare(a.Name, b.Name) })
		c.Shown, c.Ready = map[types.UID]int32{}, map[types.UID]int32{}
		for _, pod := range pods {
			c.Shown[pod.DaemonSet]++
			if pod.Ready {
				c.Ready[pod.DaemonSet]++
			}
		}
	}
}

// CanaryError says why a change is rolled back. The same change is not tried again, unless it is promoted.
type CanaryError struct{ message string }

// Error says what has happened to the canary pods.
func (e *CanaryError) Error() string { return e.message }

// hashLength is how many digits of the hash of a revision tell changes apart for people.
const hashLength = 12

// shortHash returns the hash of the wanted revision as people write it.
func (s *Situation) shortHash() string { return s.Want.Hash[:min(hashLength, len(s.Want.Hash))] }

// IsPromoted tells whether a user has promoted the wanted revision. Then an earlier failure does not count.
func (s *Situation) IsPromoted() bool { return s.Canary != nil && s.Canary.Promoted == s.shortHash() }

// TemplateOf returns the stamp of the pod template of a workload, or an empty one.
func TemplateOf(workload *render.Object) string {
	if workload == nil {
		return ""
	}
	annotations, _, _ := unstructured.NestedStringMap(workload.Content.Object, "spec", "template", "metadata", "annotations")
	return annotations[postrender.TemplateAnnotation]
}

// prove returns the plan for a change that canary pods have to prove, and whether there is nothing to prove, or nothing any more.
func (s Situation) prove() (p Plan, isProven bool) {
	left := Plan{}
	if err := s.leaveReplicas(&left); err != nil {
		return Plan{Verdict: Refused, Err: err}, false
	}
	workload := s.Want.First(render.Workloads)
	switch {
	case !s.mustProve(workload):
		return p, true
	case s.wasProven():
		return Plan{Proven: true}, true
	}
	switch isChanging, isKnown := s.changesMode(workload.Ref); {
	case !isKnown:
		return Plan{Recalls: true}, false
	case isChanging:
		return p, true
	}
	if p.Unproven = s.unprovable(workload); p.Unproven != "" {
		return p, true
	}
	seen := s.View.Objects[workload.Ref]
	switch isAway := !seen.IsThere(); {
	case isAway && s.comesBack(workload.Ref.Kind().Kind), s.isUncounted(workload.Ref):
		return awaitWorkload(workload.Ref, seen), false
	case isAway && s.View.Orphans == 0: // no pods are there that a proof could protect, or they go with it
		return p, true
	}
	all := s.running(workload.Ref)
	c := s.current()
	pods := c.count(all)
	form, err := s.limit(workload, &c, pods)
	if err != nil {
		return Plan{Verdict: Refused, Err: err, Restores: s.Drifts()}, false
	}
	c.Refusal = seen.Refusal
	found := c.proofOf(TemplateOf(workload), pods, all, s.Now)
	if found.stage == proven && seen.Hash != form.Hash && !s.IsPromoted() { // pods of an earlier canary are about to go
		found = proof{stage: unlimited, message: "no proof counts before the workload limits the change to canary pods"}
		found.until = s.Now.Add(live.CacheDelay) // the workload may then change no pod, so no event comes
	}
	switch found.stage {
	case proven:
		p.Proven, p.Unproven = found.message == "", found.message
		return p, true
	case failed:
		return s.rollBack(c.Last, found.message), false
	case paused:
		c.Last.Paused = found.message
		found.message += "; the canary pods stay until you promote or abort the change"
	case waiting, unlimited, approval:
	}
	c.Last.Proven = found.stage == approval
	p = s.proving(workload, form, c, found)
	p.Message = cmp.Or(left.Message, p.Message)
	p.noLater(left)
	return p, false
}

// proving returns the plan while canary pods prove a change, or before they can begin to.
func (s Situation) proving(workload *render.Object, form render.Object, c Canary, found proof) Plan {
	isNew := c.Last.Hash != s.Canary.Last.Hash || !c.Last.Since.Equal(&s.Canary.Last.Since)
	switch begins := c.begins(workload, s.View.Objects[workload.Ref], s.Now); {
	case !isNew || found.stage == unlimited:
	case workload.Ref.Kind().Kind == "DaemonSet" && s.hidesPods(workload.Ref):
		return s.beginLater(c, live.CacheDelay, "when the informer cache shows all pods")
	case s.Now.Before(begins):
		return s.beginLater(c, begins.Sub(s.Now), fmt.Sprintf(
			"at %s, when all pods have been ready for %s", begins.UTC().Format(time.RFC3339), c.least()))
	}
	p := s.canary(form)
	if p.Verdict != Proving {
		return p
	}
	p.Canary, p.Proof = &c.Last, found.message
	if _, grows := c.outlasts(TemplateOf(workload), c.Last.Since.Time, s.Now); workload.Ref.Kind().Kind == "DaemonSet" && !grows.IsZero() {
		p.Sooner(grows.Sub(s.Now))
	}
	if !found.until.IsZero() {
		p.Sooner(found.until.Sub(s.Now))
	}
	if c.Flow != nil && found.stage != paused {
		p.Sooner(flow.Period) // no event tells of a verdict
	}
	return p
}

// beginLater returns the plan while a proof cannot begin yet.
func (s *Situation) beginLater(c Canary, after time.Duration, when string) Plan {
	c.Last.Since = metav1.Time{}
	return Plan{
		Verdict: Deferred, Restores: s.Drifts(), After: after, Canary: &c.Last, Proof: "the change begins to prove itself " + when,
	}
}

// current returns the canary of the wanted revision. It begins now if the last one was of another revision, could not begin yet, or was
// taken back for another reason than its pods. Pods that had ended before it began are left out.
func (s *Situation) current() Canary {
	c := *s.Canary
	isAbortOver := c.Last.Aborted && c.Aborted != c.Last.Hash
	isTakenBack := !s.Begun && c.Last.Paused == ""
	waits := c.Last.RolledBack == "" && (isTakenBack || c.Last.Since.IsZero())
	if c.Last.Hash != s.shortHash() || isAbortOver || waits {
		c.keepsFailed = c.Last.Paused != ""
		c.Last = v1alpha1.CanaryStatus{Hash: s.shortHash(), Since: s.second()}
	}
	c.Seen = slices.DeleteFunc(slices.Clone(c.Seen), func(pod live.Pod) bool { return pod.Ended && c.isEarlier(pod) })
	return c
}

// second returns now as a status has it.
func (s *Situation) second() metav1.Time { return metav1.NewTime(s.Now.UTC().Truncate(time.Second)) }

// awaitWorkload returns the plan while the deployed workload has gone, or goes: it comes back before the change is proven.
func awaitWorkload(what live.Reference, seen live.Seen) Plan {
	p := Plan{Verdict: Deferred, Restores: true}
	p.Note("%s of the deployed revision comes back before the change is proven", what)
	if seen.State == live.Lost || seen.IsThere() {
		p.After = live.CacheDelay
	}
	return p
}

// canary returns the plan that has the change reach some pods: what pods mount is created or changed, and the workload has a form that
// changes no more pods. Everything else is only tried. Nothing is deleted or accepted.
func (s Situation) canary(form render.Object) Plan {
	p := Plan{Verdict: Proving}
	var steps, tries []apply.Step
	isApplied := true
	for i := range s.Want.Objects {
		wanted, isHeld, noted := &s.Want.Objects[i], s.Want.Objects[i].Stage == render.Mounts, &Plan{}
		if wanted.Ref == form.Ref {
			wanted, isHeld = &form, true
		}
		if isHeld {
			noted = &p
		}
		step, refusal := s.step(wanted, noted)
		if refusal != nil {
			return Plan{Verdict: Refused, Err: refusal, Restores: s.Drifts()}
		}
		isHeld = isHeld && (step == nil || s.stageOf(*step) != growing)
		if isHeld {
			p.holds.Objects = append(p.holds.Objects, *wanted)
		}
		switch {
		case step == nil:
			continue
		case wanted == &form:
			isApplied = false
		}
		if isHeld {
			steps = append(steps, *step)
			continue
		}
		tried := *step
		tried.Action = apply.Try
		tries = append(tries, tried)
	}
	held, untried := s.tries(steps)
	changesUsed := slices.ContainsFunc(steps, func(step apply.Step) bool { return step.InUse })
	more, refusal := s.triesOf(&form, isApplied && changesUsed)
	if refusal != nil {
		return Plan{Verdict: Refused, Err: refusal, Restores: s.Drifts()}
	}
	tries = append(tries, more...)
	if !isApplied || changesUsed {
		p.Tries = slices.Concat(held, tries)
	}
	p.Orphans = s.orphans()
	s.order(steps, untried, &p)
	for what := range s.Harmed() {
		p.Restores = p.Restores || p.holds.Has(what) == nil
	}
	p.nameHeld(s.View.Objects)
	return p
}
