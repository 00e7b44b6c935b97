// Package queue decides which Collector is reconciled next. It is the controller's queue.
package queue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue has what was delayed wait for what was not: a change of a user comes before retries, news of pods and reconciles that
// are due because of the time. The controller would give each of these the priority of the reconcile before it.
//
// It keeps back what is there already. Each addition has the library look at all that waits for a worker (controller-runtime v0.22.5,
// priorityqueue.spin), and a Collector that is installed brings ten.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	ready *ready
}

// ready has the priorities of requests that wait only for a worker.
type ready struct {
	sync.Mutex
	priorities map[reconcile.Request]int
}

// New returns the queue of a controller. limiter says how long what has failed waits.
func New(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return queue{
		priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		&ready{priorities: map[reconcile.Request]int{}},
	}
}

// Done lets a request be handed out again. A queue that has ended can hold its lock for ever: it waits to hand out a request that no
// worker takes any more (controller-runtime v0.22.5, priorityqueue.spin). A worker that waited for the lock would keep the operator from
// ending in time.
func (q queue) Done(request reconcile.Request) {
	if !q.ShuttingDown() {
		q.PriorityQueue.Done(request)
	}
}

// AddWithOpts adds requests to the queue.
func (q queue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	if opts.After > 0 || opts.RateLimited {
		opts.Priority = new(handler.LowPriority)
	} else if requests = q.ready.add(requests, ptr.Deref(opts.Priority, 0)); len(requests) == 0 {
		return
	}
	q.PriorityQueue.AddWithOpts(opts, requests...)
}

// add returns those requests that do not wait yet, or that get a higher priority.
func (r *ready) add(requests []reconcile.Request, priority int) []reconcile.Request {
	r.Lock()
	defer r.Unlock()
	return slices.DeleteFunc(slices.Clone(requests), func(request reconcile.Request) bool {
		if known, waits := r.priorities[request]; waits && known >= priority {
			return true
		}
		r.priorities[request] = priority
		return false
	})
}

// GetWithPriority returns a request for a worker. An event that comes before that is part of it, because the reconcile begins later.
func (q queue) GetWithPriority() (reconcile.Request, int, bool) {
	request, priority, isOver := q.PriorityQueue.GetWithPriority()
	q.ready.Lock()
	defer q.ready.Unlock()
	delete(q.ready.priorities, request)
	return request, priority, isOver
}

// Get is GetWithPriority without the priority.
func (q queue) Get() (reconcile.Request, bool) {
	request, _, isOver := q.GetWithPriority()
	return request, isOver
}

// Add adds a request at the priority of what users do.
func (q queue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter adds a request after a delay, or earlier if it is due earlier.
func (q queue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited adds a request after the rate limiter's delay.
func (q queue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}
