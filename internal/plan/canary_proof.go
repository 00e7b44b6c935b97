package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// provingDeadline is how long canary pods may take to become ready, as a Deployment's pods may by default.
const provingDeadline = 10 * time.Minute

// stage says how far a proof is.
type stage int

const (
	waiting   stage = iota // for pods, or for time
	unlimited              // pods of an earlier revision have proven the template, and the workload does not limit the change yet
	approval               // proven, and left to a user
	proven
	failed
	paused // failed, and left to a user
)

// proof is what canary pods have shown of a change.
type proof struct {
	stage   stage
	until   time.Time // when a proof that waits can be another one although nothing happens; zero is never
	message string    // also of a change that counts as proven, and is not
}

// count returns how many of some pods are canary pods.
func (c *Canary) count(all int32) int32 { return share(c.Pods, all) }

// share returns how many of some pods a number or a percentage is, at least one.
func share(asked intstr.IntOrString, all int32) int32 {
	number, err := intstr.GetScaledValueFromIntOrPercent(&asked, int(all), true)
	if err != nil {
		number = 1 // the schema refuses it
	}
	return int32(max(1, min(number, int(all))))
}

// aborted is why a change is rolled back that a user has aborted.
const aborted = "the change is aborted by annotation " + v1alpha1.AbortAnnotation

// rejection returns the wanted change if canary pods have failed to prove it or a user has aborted it, or nil. It does not matter whether
// pods are there now. A user who promotes the change has the last word.
func (s *Situation) rejection() *v1alpha1.CanaryStatus {
	if !s.hasCanary() || s.IsPromoted() {
		return nil
	}
	last := s.current().Last
	if s.Canary.Aborted == last.Hash {
		last.RolledBack, last.Aborted = aborted, true
	}
	if !s.Begun || s.hasNoPods(s.Want.First(render.Workloads)) { // no canary pods are there to look at
		last.RolledBack = cmp.Or(last.RolledBack, last.Paused)
	}
	if last.RolledBack == "" {
		return nil
	}
	return &last
}

// IsRejected tells whether canary pods have failed to prove the wanted change, or a user has aborted it.
func (s *Situation) IsRejected() bool { return s.rejection() != nil }

// rollBack returns the plan that has the deployed revision serve again in place of a change.
func (s *Situation) rollBack(last v1alpha1.CanaryStatus, cause string) Plan {
	last.RolledBack, last.Paused, last.Proven = cause, "", false
	return Plan{Verdict: Refused, Err: &CanaryError{cause}, Canary: &last, Restores: s.Drifts()}
}

// proofOf returns what is proven of the last change, by pods with the stamp of its template. A user's word comes first, and a failure
// before anything that is good.
func (c *Canary) proofOf(template string, pods, all int32, now time.Time) proof {
	found := c.shown(template, int(pods), now)
	if c.Last.Hash == c.Promoted {
		if found.stage == proven {
			return found
		}
		return proof{stage: proven, message: "annotation " + v1alpha1.PromoteAnnotation + " promotes it"}
	}
	if c.Last.Paused != "" { // also if the pods have recovered
		found = proof{stage: failed, message: c.Last.Paused}
	}
	who := fmt.Sprintf("canary pods (%d of %d) ", pods, all)
	switch {
	case found.stage == waiting:
		found.message = who + found.message
	case found.stage == failed && c.Pauses:
		found.stage = paused
	case found.stage == proven && c.IsManual:
		return proof{stage: approval, message: who + "have proven the change, which waits until you promote it"}
	}
	return found
}

// shown returns what the pods alone show. They must be there, be ready for as long as is asked, and must not have died.
func (c *Canary) shown(template string, pods int, now time.Time) proof {
	var ready []time.Time
	deadline, lack, trouble := c.late(), "there", ""
	if again := c.Lacking.Add(provingDeadline); again.After(deadline) { // they were there before
		deadline = again
	}
	for _, pod := range c.Seen {
		switch {
		case !isCanary(pod, template):
		case pod.Died && (!pod.Ready || !c.isEarlier(pod)):
			return proof{stage: failed, message: "pod " + pod.Name + ": " + cmp.Or(pod.Trouble, "a container has restarted or failed")}
		case pod.Orphan: // it may serve, and an event tells that its StatefulSet has taken it back
			return proof{message: "wait for their StatefulSet"}
		case pod.Ready:
			ready = append(ready, pod.Since)
			if next := pod.Since.Add(provingDeadline); lack == "there" && next.After(deadline) { // a StatefulSet makes one after the other
				deadline = next
			}
		default:
			if at := pod.Since.Add(provingDeadline); lack == "there" || at.Before(deadline) {
				deadline, lack = at, "ready"
			}
			if pod.Trouble != "" {
				trouble = "; pod " + pod.Name + ": " + pod.Trouble
			}
		}
	}
	if c.Flow != nil && c.Flow.Worse != "" {
		return worse(c.Flow.Worse)
	}
	if len(ready) < pods {
		if now.Before(deadline) {
			return proof{until: deadline, message: "are not " + lack + ", and have until " + deadline.UTC().Format(time.RFC3339) + trouble}
		}
		if lack == "there" && c.Refusal != "" {
			trouble = "; " + c.Refusal
		}
		return proof{stage: failed, message: "canary pods were not " + lack + " in time" + trouble}
	}
	slices.SortFunc(ready, time.Time.Compare)
	end := ready[pods-1].Add(c.Hold)
	if now.Before(end) {
		return proof{until: end, message: "prove the change until " + end.UTC().Format(time.RFC3339)}
	}
	return c.flowed(end, now)
}

// isEarlier tells whether a pod is as it is since before the canary began: an earlier revision had the same template, and what has ended of
// the pod ended then.
func (c *Canary) isEarlier(pod live.Pod) bool {
	return pod.Since.Before(c.Last.Since.Time) && !c.keepsFailed
}

// late returns when it is too late for canary pods to be created.
func (c *Canary) late() time.Time { return c.Last.Since.Add(provingDeadline + c.Hold) }

// isMissed tells whether it is too late, and no pod has the template.
func (c *Canary) isMissed(template string, now time.Time) bool {
	return !now.Before(c.late()) && !slices.ContainsFunc(c.Seen, func(pod live.Pod) bool { return isCanary(pod, template) })
}

// isCanary tells whether a pod has a template, and stays: another pod comes in place of one that goes.
func isCanary(pod live.Pod, template string) bool {
	return pod.Template == template && !pod.Deleting
}

// isOld tells whether a pod has another template. An orphan is no pod of a DaemonSet.
func isOld(pod live.Pod, template string) bool { return pod.Template != template && !pod.Orphan }

// LacksCanary tells whether fewer pods have the wanted template than have to prove it.
func (s *Situation) LacksCanary() bool {
	workload := s.Want.First(render.Workloads)
	if s.Canary == nil || workload == nil {
		return false
	}
	template := TemplateOf(workload)
	there := live.Count(s.current().Seen, func(pod live.Pod) bool { return isCanary(pod, template) })
	return there < s.Canary.count(s.running(workload.Ref))
}

// worse returns that data does not flow through canary pods as through the others.
func worse(how string) proof {
	return proof{stage: failed, message: "data flows worse through canary pods than through the others: " + how}
}

// flowed returns what the data shows of pods that have been ready for as long as is asked. Where no pod with the change has a verdict in
// time, data has no say. An operator that starts has seen no data before.
func (c *Canary) flowed(end, now time.Time) proof {
	if c.Flow == nil {
		return proof{stage: proven}
	}
	if c.Flow.Began.After(end) {
		end = c.Flow.Began
	}
	deadline := end.Add(provingDeadline)
	switch {
	case c.Flow.IsSilent:
		return proof{stage: failed, message: "nothing flows through canary pods, and data flows through the others"}
	case !c.Flow.IsKnown && now.Before(deadline):
		message := "are ready, and wait until it is known how their data flows, or until " + deadline.UTC().Format(time.RFC3339)
		return proof{until: deadline, message: message}
	case c.Flow.Doubt != "":
		return worse(c.Flow.Doubt)
	}
	return proof{stage: proven}
}

// youngest returns when the last of the pods of other templates became ready, until a time. It is zero without one.
func (c *Canary) youngest(template string, until time.Time) (last time.Time) {
	for _, pod := range c.Seen {
		if isReady := isOld(pod, template) && pod.Ready && !pod.Deleting; isReady && pod.Since.After(last) && !pod.Since.After(until) {
			last = pod.Since
		}
	}
	return last
}

// outlasts returns minReadySeconds of a DaemonSet whose proof began at a time, and when they have to grow, or zero. They are as long as the
// pods of other templates had been ready then, and grow with the first canary pod, in steps that no canary pod overtakes. The
// others have been ready for longer, and stay.
func (c *Canary) outlasts(template string, since, now time.Time) (ready time.Duration, next time.Time) {
	youngest, first := c.youngest(template, since), now
	for _, pod := range c.Seen {
		if isCanary(pod, template) && pod.Ready && pod.Since.Before(first) {
			first = pod.Since
		}
	}
	ready = since.Sub(youngest)
	if first.Equal(now) {
		return ready, next
	}
	step := max(min(ready, first.Sub(youngest)), provingDeadline) / 2 // canary pods may have been there before this proof
	age := min(now.Sub(first), now.Sub(since))
	by := age / step * step
	return min(ready, endless*time.Second) + by, now.Add(by + step - age)
}

// stuck counts the pods of other templates that have not been ready since before a time, those that are being deleted included.
func (c *Canary) stuck(template string, before time.Time) int32 {
	return live.Count(c.Seen, func(pod live.Pod) bool { return isOld(pod, template) && !pod.Ready && !pod.Since.After(before) })
}

// least returns how long pods of a DaemonSet have been ready at least when a proof begins. See form.
func (c *Canary) least() time.Duration { return c.Hold + provingDeadline }

// startTime is how long pods of a DaemonSet that was just created may take to become ready.
const startTime = 3 * time.Minute

// begins returns when a proof can begin: with a DaemonSet, when its pods have been ready for long enough. See form.
func (c *Canary) begins(workload *render.Object, seen live.Seen, now time.Time) (at time.Time) {
	if workload.Ref.Kind().Kind != "DaemonSet" {
		return at
	}
	youngest := c.youngest(TemplateOf(workload), now)
	if youngest.IsZero() && seen.Available < seen.Replicas {
		return seen.Created.Add(startTime)
	}
	return youngest.Add(c.least() + live.CacheDelay)
}
