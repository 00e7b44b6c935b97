package operator

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
