// Package retry spaces out the passes over a Collector that cannot be deployed.
//
// It decorates the stock action client, and adds a source to the stock reconciler's controller. After a failed pass the
// controller makes the next one 5 ms later, and doubles that; it cannot be told otherwise. A pass costs the API server
// dozens of requests, and a configuration that is wrong is still wrong 5 ms later. So the decorated action client
// returns errors for which the controller does not try again, and has the pass repeated itself: after 2 s, then 4 s, up
// to 2 minutes. A change of the Collector still brings a pass at once.
package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// firstDelay is how long after the first failure the next pass begins. Each further failure doubles it. With the
	// passes that events bring it makes no more than 12 passes in 5 minutes.
	firstDelay = 2 * time.Second

	// longestDelay bounds the delays. Once the cause of the failures has gone, it takes no longer until that is noticed.
	longestDelay = 2 * time.Minute
)

// Queue is the work queue of one controller, seen by those who want another pass.
type Queue struct {
	delays workqueue.TypedRateLimiter[types.NamespacedName]

	mutex   sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	failing map[types.NamespacedName]failures
}

// failures are what is known of a Collector's last failed pass.
type failures struct {
	generation int64     // of the Collector
	retry      time.Time // when the next pass is due
}

// New returns the Queue of a controller that is yet to be set up, see Setup.
func New() *Queue {
	return &Queue{
		delays:  workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstDelay, longestDelay),
		failing: map[types.NamespacedName]failures{},
	}
}

// Setup gives the Queue its controller; it is for reconciler.WithControllerSetupFunc.
func (q *Queue) Setup(controller reconciler.ControllerSetup) error {
	// Sources are how a controller lets others add to its queue; this one only keeps it.
	keep := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		q.queue = queue
		return nil
	})
	if err := controller.Watch(keep); err != nil {
		return fmt.Errorf("get the controller's queue: %w", err)
	}
	return nil
}

// After has a pass made over the Collector with that key after a delay, or earlier if one is due earlier. It does
// nothing before the controller has started, because its start brings a pass over each Collector.
func (q *Queue) After(key types.NamespacedName, delay time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.queue != nil {
		q.queue.AddAfter(reconcile.Request{NamespacedName: key}, delay)
	}
}

// ActionClients decorates the clients that next gives, and should be the outermost decorator: it takes what it sees
// fail for the pass's failure.
func (q *Queue) ActionClients(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		pass := &actionClient{queue: q, key: client.ObjectKeyFromObject(obj), generation: obj.GetGeneration()}
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			return nil, pass.failed(err)
		}
		pass.ActionInterface = actions
		return pass, nil
	})
}

// failed has another pass made after a delay that grows with each failure. A Collector that has been changed since the
// last failure, or deleted, starts anew. A pass that came before it was due, brought by an event, leaves the next one
// where it is: the news of a failure in the status is such an event, and would otherwise bring the longest delay within
// a second.
func (q *Queue) failed(key types.NamespacedName, generation int64) {
	q.mutex.Lock()
	last, now := q.failing[key], time.Now()
	if last.generation != generation {
		q.delays.Forget(key)
		last = failures{generation: generation}
	}
	if !now.Before(last.retry) {
		last.retry = now.Add(q.delays.When(key))
	}
	q.failing[key] = last
	q.mutex.Unlock()
	q.After(key, last.retry.Sub(now))
}

func (q *Queue) succeeded(key types.NamespacedName) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.failing, key)
	q.delays.Forget(key)
}

// failure is an error after which the controller makes no other pass by itself. It reads like its cause.
type failure struct{ error }

// Unwrap returns the cause.
func (f failure) Unwrap() error { return f.error }

// Is says that a failure is one of controller-runtime's terminal errors, whose own type adds words to the cause's.
func (f failure) Is(target error) bool {
	return errors.Is(reconcile.TerminalError(nil), target)
}
