package queue

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/status"
)

const (
	firstDelay   = 2 * time.Second
	longestDelay = 2 * time.Minute
)

// Backoff decides when a Collector is reconciled again. After a failed reconcile the next one comes 2 s later, then 4 s, up to 2 minutes.
// A change or the deletion of the Collector makes another generation, whose delays start anew.
type Backoff struct {
	delays *flowcontrol.Backoff
	now    func() time.Time
}

// NewBackoff returns a Backoff by a clock, which the simulation sets.
func NewBackoff(now func() time.Time) *Backoff {
	return &Backoff{flowcontrol.NewFakeBackOff(firstDelay, longestDelay, clockOf{now: now}), now}
}

// clockOf tells client-go the time; it has no use for the rest of a clock.
type clockOf struct {
	clock.RealClock
	now func() time.Time
}

func (c clockOf) Now() time.Time { return c.now() }

// Failed returns the delay after a failed reconcile.
func (b *Backoff) Failed(collector client.Object) time.Duration {
	return b.After(generationOf(collector))
}

// After returns the delay after a failure of what has an id. A reconcile that came before it was due does not make the delay grow: news of
// the Collector's objects start some, and would otherwise bring the longest delay within a second.
func (b *Backoff) After(id string) time.Duration {
	now := b.now()
	if !b.delays.IsInBackOffSinceUpdate(id, now) {
		b.delays.GC() // of Collectors that have gone, or were changed
		b.delays.Next(id, now)
	}
	return b.delays.Get(id)
}

// IsWaiting tells whether the delay after a Collector's last failure is not over.
func (b *Backoff) IsWaiting(collector client.Object) bool {
	return b.delays.IsInBackOffSinceUpdate(generationOf(collector), b.now())
}

// Ended returns when the reconcile after one without an error comes, which is after the period, or earlier.
func (b *Backoff) Ended(collector *unstructured.Unstructured, period time.Duration, how status.Outcome) time.Duration {
	if !how.Verdict.Waits() {
		b.delays.DeleteEntry(generationOf(collector))
	}
	next := earlier(period, how.Requeue)
	presets := generationOf(collector) + " presets" // a role that they lack is no failure, so it delays no retry of one
	switch v1alpha1.ConditionOf(collector, v1alpha1.PresetsReady).Status {
	case corev1.ConditionFalse, corev1.ConditionUnknown:
		return earlier(next, b.After(presets)) // no event tells that the role was bound, or that the API server answers again
	}
	b.delays.DeleteEntry(presets)
	return next
}

// earlier returns the shorter delay. A delay of 0 does not count.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func generationOf(collector client.Object) string {
	return fmt.Sprint(collector.GetUID(), " ", collector.GetGeneration())
}
