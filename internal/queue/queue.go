// Package queue decides which Collector is reconciled next, and when. It is the controller's queue: client-go's, with an order and delays
// of its own.
package queue

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue gives client-go's queue the priorities of controller-runtime. A delayed request is never urgent, because no user waits for it: the
// controller would give retries and periodic reconciles the priority of the reconcile before them.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	order *order
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// New returns the queue of a controller. The limiter says how long a request waits after its reconcile has failed.
func New(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	order := newOrder()
	return &queue{order: order, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: workqueue.NewTypedWithConfig(
				workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: order},
			)},
		)},
	)}
}

// AddWithOpts adds requests. The priority of a delayed one does not count.
func (q *queue) AddWithOpts(opts priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		switch {
		case opts.RateLimited:
			q.AddRateLimited(request)
		case opts.After > 0:
			q.AddAfter(request, opts.After)
		default:
			if ptr.Deref(opts.Priority, 0) >= 0 {
				q.order.markUrgent(request)
			}
			q.TypedRateLimitingInterface.Add(request)
		}
	}
}

// Add adds a request that a user waits for.
func (q *queue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// Get returns a request for a worker. Once the queue is shut down, it returns none of those that still wait.
func (q *queue) Get() (request reconcile.Request, isOver bool) {
	request, isOver = q.TypedRateLimitingInterface.Get()
	return request, isOver || q.ShuttingDown()
}

// GetWithPriority is Get. The priority is always 0: the controller has no use for it but to add the request again, after a delay.
func (q *queue) GetWithPriority() (request reconcile.Request, priority int, isOver bool) {
	request, isOver = q.Get()
	return request, 0, isOver
}

// Done lets a request be handed out again.
func (q *queue) Done(request reconcile.Request) {
	q.order.release(request) // before another worker can get it
	q.TypedRateLimitingInterface.Done(request)
}
