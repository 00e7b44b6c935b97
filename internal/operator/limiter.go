package operator

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube8/kube8-operator/internal/queue"
)

// limiter is the controller's rate limiter.
type limiter struct {
	*queue.Backoff
	find finder
}

// When returns the delay after a failure.
func (l *limiter) When(request reconcile.Request) time.Duration {
	if collector := l.find(context.Background(), request.NamespacedName); collector != nil {
		return l.Failed(collector)
	}
	return l.After(request.String())
}

// Forget does nothing. The controller calls it after each reconcile without an error, also if that waits for something.
func (l *limiter) Forget(reconcile.Request) {}

// NumRequeues is for what the controller does not do.
func (l *limiter) NumRequeues(reconcile.Request) int { return 0 }
