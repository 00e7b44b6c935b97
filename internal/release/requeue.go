package release

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// After a failed reconcile the controller makes the next one 5 ms later, and doubles that; it cannot be told otherwise. A
// configuration that is wrong is still wrong 5 ms later. So the errors of the action client tell the controller not to
// requeue. The client requeues the Collector itself: after 2 s, then 4 s, up to 2 minutes. A change of the Collector still
// starts a reconcile at once.
const (
	firstDelay   = 2 * time.Second
	longestDelay = 2 * time.Minute
)

// queue is the work queue of the controller. newQueue makes one; setup gives it its controller.
type queue struct {
	backoff *flowcontrol.Backoff

	mutex sync.Mutex
	work  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newQueue() *queue {
	return &queue{backoff: flowcontrol.NewBackOff(firstDelay, longestDelay)}
}

// setup gives the queue its controller.
func (q *queue) setup(controller reconciler.ControllerSetup) error {
	// Sources are how a controller lets others add to its queue; this one only keeps it.
	keep := source.Func(func(_ context.Context, work workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		q.work = work
		return nil
	})
	if err := controller.Watch(keep); err != nil {
		return fmt.Errorf("get the controller's queue: %w", err)
	}
	return nil
}

// after requeues a Collector after a delay, or earlier if it is due earlier. It does nothing before the controller has
// started, because its start reconciles each Collector.
func (q *queue) after(collector client.Object, delay time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.work != nil {
		q.work.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(collector)}, delay)
	}
}

// failed requeues a Collector after a delay that grows with each failure. After a change or the deletion of the Collector
// the delay starts anew. A reconcile that came before it was due does not make the delay grow: the news of a failure in the
// status starts one, and would otherwise bring the longest delay within a second.
func (q *queue) failed(collector client.Object) {
	id, now := generationOf(collector), time.Now()
	if !q.backoff.IsInBackOffSinceUpdate(id, now) {
		q.backoff.GC() // of Collectors that have gone, or were changed
		q.backoff.Next(id, now)
	}
	q.after(collector, q.backoff.Get(id))
}

// isWaiting tells whether a Collector waits for the delay after its last failure.
func (q *queue) isWaiting(collector client.Object) bool {
	return q.backoff.IsInBackOffSinceUpdate(generationOf(collector), time.Now())
}

func (q *queue) succeeded(collector client.Object) { q.backoff.DeleteEntry(generationOf(collector)) }

func generationOf(collector client.Object) string {
	return fmt.Sprint(collector.GetUID(), " ", collector.GetGeneration())
}

// failure is an error after which the controller does not requeue by itself. It reads like its cause.
type failure struct{ error }

// Unwrap returns the cause.
func (f failure) Unwrap() error { return f.error }

// Is says that a failure is one of controller-runtime's terminal errors, whose own type adds words to the cause's.
func (f failure) Is(target error) bool {
	return errors.Is(reconcile.TerminalError(nil), target)
}
