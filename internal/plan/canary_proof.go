package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/render"
)

// provingDeadline is how long canary pods may take to become ready, as a Deployment's pods may by default.
const provingDeadline = 10 * time.Minute

// stage says how far a proof is.
type stage int

const (
	waiting stage = iota // for pods, for time, or for a user
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
func (c *Canary) count(all int32) int32 {
	number, err := intstr.GetScaledValueFromIntOrPercent(&c.Pods, int(all), true)
	if err != nil {
		number = 1 // the schema refuses it
	}
	return int32(max(1, min(number, int(all))))
}

// proofOf returns what is proven of the last change, by pods with the stamp of its template. A user's word comes first, and a failure
// before anything that is good.
func (c *Canary) proofOf(template string, pods, all int32, now time.Time) proof {
	switch c.Last.Hash {
	case c.Aborted:
		return proof{stage: failed, message: "the change is aborted by annotation " + v1alpha1.AbortAnnotation}
	case c.Promoted:
		if found := c.shown(template, int(pods), now); found.stage == proven {
			return found
		}
		return proof{stage: proven, message: "annotation " + v1alpha1.PromoteAnnotation + " promotes it"}
	}
	if c.Last.RolledBack != "" {
		return proof{stage: failed, message: c.Last.RolledBack}
	}
	found := c.shown(template, int(pods), now)
	who := fmt.Sprintf("canary pods (%d of %d) ", pods, all)
	switch {
	case found.stage == waiting:
		found.message = who + found.message
	case found.stage == failed && c.Pauses:
		return proof{stage: paused, message: found.message + "; the canary pods stay until you promote or abort the change"}
	case found.stage == proven && c.IsManual:
		return proof{message: who + "have proven the change, which waits until you promote it"}
	}
	return found
}

// shown returns what the pods alone show. They must be there, be ready for as long as is asked, and must not have died.
func (c *Canary) shown(template string, pods int, now time.Time) proof {
	var ready []time.Time
	deadline, lack, trouble := c.late(), "there", ""
	for _, pod := range c.Seen {
		switch {
		case pod.Template != template:
		case pod.Died:
			return proof{stage: failed, message: "pod " + pod.Name + ": " + cmp.Or(pod.Trouble, "a container has restarted or failed")}
		case pod.Orphan: // it may serve, and an event tells that its StatefulSet has taken it back
			return proof{message: "wait for their StatefulSet"}
		case pod.Ready && !pod.Deleting:
			ready = append(ready, pod.Since)
		default:
			if deadline, lack = pod.Since.Add(provingDeadline), "ready"; pod.Trouble != "" {
				trouble = "; pod " + pod.Name + ": " + pod.Trouble
			}
		}
	}
	if c.Flow != nil && c.Flow.Worse != "" {
		return proof{stage: failed, message: "data flows worse through canary pods than through the others: " + c.Flow.Worse}
	}
	if len(ready) < pods {
		if now.Before(deadline) {
			return proof{until: deadline, message: "are not " + lack + ", and have until " + deadline.UTC().Format(time.RFC3339) + trouble}
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

// late returns when it is too late for canary pods to be created.
func (c *Canary) late() time.Time { return c.Last.Since.Add(provingDeadline + c.Hold) }

// isMissed tells whether it is too late although nothing has failed, and no pod has had the template.
func (c *Canary) isMissed(template string, now time.Time) bool {
	hasTemplate := func(pod inventory.Pod) bool { return pod.Template == template }
	return c.Last.RolledBack == "" && !now.Before(c.late()) && !slices.ContainsFunc(c.Seen, hasTemplate)
}

// flowed returns what the data shows of pods that have been ready for as long as is asked. Where no pod with the change has a verdict in
// time, data has no say.
func (c *Canary) flowed(end, now time.Time) proof {
	deadline := end.Add(provingDeadline)
	switch {
	case c.Flow == nil:
	case c.Flow.IsSilent:
		return proof{stage: failed, message: "nothing flows through canary pods, and data flows through the others"}
	case !c.Flow.IsKnown && now.Before(deadline):
		message := "are ready, and wait until it is known how their data flows, or until " + deadline.UTC().Format(time.RFC3339)
		return proof{until: deadline, message: message}
	}
	return proof{stage: proven}
}

// youngest returns when the last of the pods of other templates became ready. It is zero without one.
func (c *Canary) youngest(template string) (last time.Time) {
	for _, pod := range c.Seen {
		if isOld := pod.Template != template && pod.Ready && !pod.Deleting; isOld && pod.Since.After(last) {
			last = pod.Since
		}
	}
	return last
}

// stuck counts the pods of other templates that have not been ready since before a time, those that are being deleted included.
func (c *Canary) stuck(template string, before time.Time) (count int32) {
	for _, pod := range c.Seen {
		if isStuck := pod.Template != template && !pod.Ready && !pod.Since.After(before); isStuck {
			count++
		}
	}
	return count
}

// least returns how long pods of a DaemonSet have been ready at least when a proof begins. See form.
func (c *Canary) least() time.Duration { return c.Hold + provingDeadline }

// begins returns when a proof can begin: with a DaemonSet, when its pods have been ready for long enough. See form.
func (c *Canary) begins(workload *render.Object) (at time.Time) {
	if workload.Ref.Kind().Kind == "DaemonSet" {
		at = c.youngest(TemplateOf(workload)).Add(c.least() + inventory.CacheDelay)
	}
	return at
}
