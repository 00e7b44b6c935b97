package status

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// together is how long news waits for what belongs to it: a pod tells first, its workload a moment later.
	together = 500 * time.Millisecond

	// shortest is the time between two reconciles as long as there is not much news.
	shortest = 2 * time.Second

	// longest bounds the time between two reconciles, and is how long each reconcile counts: one after the other they no longer do.
	longest = 30 * time.Second

	// few is how many reconciles may count before the time to the next one doubles, and doubles again with each further one.
	few = 3

	// lead is how many more may when the workload becomes ready or ceases to be: somebody may wait for that.
	lead = 3
)

// urgency says how soon news should be seen.
type urgency int

const (
	detail  urgency = iota // changes what is said
	turn                   // changes whether the workload is ready
	rollout                // follows a change of the workload's spec
)

// pacer spreads the reconciles of each Collector that news of its pods asks for: a rollout is followed as it happens, and
// a pod that flaps for hours costs a reconcile every longest. What it knows of a Collector is forgotten once it is calm.
type pacer struct {
	// chosen says whether there is a Collector, and whether it is for the reconciler.
	chosen func(context.Context, client.ObjectKey) bool

	mutex sync.Mutex
	paces *cache.Expiring // of *pace, by reconcile.Request
}

func newPacer(chosen func(context.Context, client.ObjectKey) bool) *pacer {
	return &pacer{chosen: chosen, paces: cache.NewExpiring()}
}

// ask has a Collector reconciled of which there is news. The reconcile always begins after the news.
func (p *pacer) ask(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], request reconcile.Request, urgent urgency,
) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known, found := p.paces.Get(request)
	if !found {
		known = &pace{}
	}
	if !p.chosen(ctx, request.NamespacedName) {
		p.paces.Delete(request)
		return
	}
	now, of := time.Now(), known.(*pace) // nothing else is in there
	delay := of.next(now, urgent)
	p.paces.Set(request, of, of.calm().Sub(now))
	// In place of a later one. Also if one is due then that was asked for already: the queue has but one time for each
	// Collector, and the retry after an error may have taken its place, and have been before this news.
	queue.AddAfter(request, delay)
}

// pace is that of the reconciles of one Collector.
type pace struct {
	last time.Time // when the last reconcile was due
	due  time.Time // when the next one is, or zero
	paid time.Time // when the reconciles until the last one no longer count
}

// next returns after how long a reconcile is due because of news. That is one that is due already, if it will do.
func (p *pace) next(now time.Time, urgent urgency) time.Duration {
	if !p.due.IsZero() && !now.Before(p.due) {
		p.paid, p.last, p.due = p.calm(), p.due, time.Time{}
	}
	if urgent == rollout {
		p.paid = time.Time{}
	}
	due := later(now.Add(together), p.last.Add(p.gap(now, urgent)))
	if p.due.IsZero() || due.Before(p.due) {
		p.due = due
	}
	return p.due.Sub(now)
}

// gap is the time between the last reconcile and the next.
func (p *pace) gap(now time.Time, urgent urgency) time.Duration {
	passes := int((p.paid.Sub(now) + longest - 1) / longest)
	if urgent == turn {
		passes -= lead
	}
	return min(shortest<<max(passes-few, 0), longest)
}

// calm is when the reconciles, with the one that is due, no longer count.
func (p *pace) calm() time.Time { return later(p.paid, p.due).Add(longest) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
