// Package queue decides which Collector is reconciled next. It is the controller's queue.
package queue

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue has what was delayed wait for what was not: a change of a user comes before retries, news of pods and reconciles that
// are due because of the time. The controller would give each of these the priority of the reconcile before it. They have one turn in
// four once they have waited for 5 seconds, however much users change.
//
// It keeps back what is there already: a Collector that is installed brings ten additions.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	shares  *shares
	waiting sync.RWMutex // of workers, each for reading while it waits
	isOver  atomic.Bool
}

// nextPriority is that of the next one. The library puts what gets a higher priority behind all that have it (controller-runtime v0.23.3,
// priorityqueue.lockedAddWithOpts).
const nextPriority = 1

// New returns what makes the queue of a controller that has a number of workers. The limiter says how long what has failed waits.
func New(workers int) func(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(
		name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
	) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		made := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		return &queue{PriorityQueue: made, limiter: limiter, shares: newShares(workers)}
	}
}

// ShutDown ends the queue once no worker waits in the library. The library would hand out to one that has gone, and keep its locks for
// ever (controller-runtime v0.23.3, priorityqueue.handleReadyItems). A worker that needs them would keep the operator from ending in time.
func (q *queue) ShutDown() {
	q.isOver.Store(true)
	for number := range q.shares.workers { // what they wait for
		q.PriorityQueue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(number)}})
	}
	q.waiting.Lock()
	defer q.waiting.Unlock()
	q.PriorityQueue.ShutDown()
}

// Done lets a request be handed out again.
func (q *queue) Done(request reconcile.Request) {
	q.shares.done(request) // first: once the library knows, another worker can have it
	q.PriorityQueue.Done(request)
	q.giveBack()
}

// AddWithOpts adds requests to the queue.
func (q *queue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		one := opts
		if opts.RateLimited {
			limit := q.limiter.When(request)
			if one.RateLimited = false; opts.After == 0 || limit < opts.After {
				one.After = limit
			}
		}
		if one.After > 0 || opts.RateLimited {
			one.Priority = new(handler.LowPriority)
		}
		if q.shares.add(request, ptr.Deref(one.Priority, 0), one.After) {
			q.PriorityQueue.AddWithOpts(one, request)
		}
	}
}

// GetWithPriority returns a request for a worker. An event that comes before that is part of it, because the reconcile begins later.
func (q *queue) GetWithPriority() (reconcile.Request, int, bool) {
	for {
		q.waiting.RLock()
		request, priority, isOver := q.PriorityQueue.GetWithPriority()
		q.waiting.RUnlock()
		if isOver || q.isOver.Load() {
			return request, priority, true
		}
		next, priority, isTaken := q.shares.take(request, priority)
		q.giveBack()
		if isTaken {
			if late, found := q.shares.overtaken(); found {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: new(nextPriority)}, late)
			}
			return next, priority, false
		}
	}
}

// giveBack has the library hand out again what its namespace may have now.
func (q *queue) giveBack() {
	for _, given := range q.shares.giveBack() {
		q.PriorityQueue.Done(given.Request)
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &given.priority}, given.Request)
	}
}

// Get is GetWithPriority without the priority.
func (q *queue) Get() (reconcile.Request, bool) {
	request, _, isOver := q.GetWithPriority()
	return request, isOver
}

// Add adds a request at the priority of what users do.
func (q *queue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter adds a request after a delay, or earlier if it is due earlier.
func (q *queue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited adds a request after the rate limiter's delay.
func (q *queue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}
