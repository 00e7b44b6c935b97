package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	firstDelay   = 2 * time.Second
	longestDelay = 2 * time.Minute
)

// backoff is the controller's rate limiter. After a failed reconcile of a Collector the next one comes 2 s later, then 4 s, up
// to 2 minutes. A change or the deletion of the Collector makes another generation, whose delays start anew.
type backoff struct {
	delays *flowcontrol.Backoff
	find   finder
}

// When returns the delay after a failure. A reconcile that came before it was due does not make the delay grow: news of the Collector's
// objects start some, and would otherwise bring the longest delay within a second.
func (b *backoff) When(request reconcile.Request) time.Duration {
	if collector := b.find(context.Background(), request.NamespacedName); collector != nil {
		return b.after(generationOf(collector))
	}
	return b.after(request.String())
}

// after returns the delay after what has an id.
func (b *backoff) after(id string) time.Duration {
	now := time.Now()
	if !b.delays.IsInBackOffSinceUpdate(id, now) {
		b.delays.GC() // of Collectors that have gone, or were changed
		b.delays.Next(id, now)
	}
	return b.delays.Get(id)
}

// Forget does nothing. The controller calls it after each reconcile without an error, also if that waits for something.
func (b *backoff) Forget(reconcile.Request) {}

// NumRequeues is for what the controller does not do.
func (b *backoff) NumRequeues(reconcile.Request) int { return 0 }

// isWaiting tells whether the delay after a Collector's last failure is not over.
func (b *backoff) isWaiting(collector client.Object) bool {
	return b.delays.IsInBackOffSinceUpdate(generationOf(collector), time.Now())
}

func (b *backoff) succeeded(collector client.Object) { b.delays.DeleteEntry(generationOf(collector)) }

// lacksRole returns when to look again for a role that the presets of a Collector lack. That is no failure, so it delays no retry of one.
func (b *backoff) lacksRole(collector client.Object) time.Duration {
	return b.after(presetsOf(collector))
}

func (b *backoff) hasRoles(collector client.Object) { b.delays.DeleteEntry(presetsOf(collector)) }

func presetsOf(collector client.Object) string { return generationOf(collector) + " presets" }

func generationOf(collector client.Object) string {
	return fmt.Sprint(collector.GetUID(), " ", collector.GetGeneration())
}
