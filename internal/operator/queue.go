package operator

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// queue has what was delayed wait for what was not: a change of a user comes before retries, news of pods and reconciles that
// are due because of the time. The controller would give each of these the priority of the reconcile before it.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func newQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return queue{priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })}
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
	}
	q.PriorityQueue.AddWithOpts(opts, requests...)
}

// AddAfter adds a request after a delay, or earlier if it is due earlier.
func (q queue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited adds a request after the rate limiter's delay.
func (q queue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// asked is a request of the operator itself, which no event brings.
type asked struct {
	request reconcile.Request
	after   time.Duration
}

// requests is what the operator asks for itself.
type requests chan event.TypedGenericEvent[asked]

// source is the controller's source of them.
func (r requests) source() source.Source {
	return source.Channel(r, handler.TypedFuncs[asked, reconcile.Request]{
		GenericFunc: func(
			_ context.Context, e event.TypedGenericEvent[asked], work workqueue.TypedRateLimitingInterface[reconcile.Request],
		) {
			work.AddAfter(e.Object.request, max(e.Object.after, time.Nanosecond)) // no user waits for it
		},
	})
}

// ask has a Collector reconciled after a delay, unless ctx ends before that. It waits until the controller has started.
func (r requests) ask(ctx context.Context, collector client.Object, after time.Duration) {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(collector)}
	select {
	case r <- event.TypedGenericEvent[asked]{Object: asked{request, after}}:
	case <-ctx.Done():
	}
}
