package release

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// collectorOf returns a Collector of a generation.
func collectorOf(generation int64) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1-2-3", Generation: generation}}
}

// started returns a queue, and a function that waits until it has the Collector reconciled.
func started(t *testing.T) (q *queue, wait func() time.Duration) {
	t.Helper()
	q = newQueue()
	q.work = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.work.ShutDown)
	return q, func() time.Duration {
		begin := time.Now()
		request, _ := q.work.Get()
		q.work.Done(request)
		return time.Since(begin)
	}
}

func TestTheDelaysDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, wait := started(t)
		for _, want := range []time.Duration{2, 4, 8, 16, 32, 64, 120, 120} {
			for range 10 { // a reconcile that was not due leaves the delay alone
				q.failed(collectorOf(1))
			}
			if waited := wait(); waited != want*time.Second {
				t.Errorf("waited %s, want %d s", waited, want)
			}
		}
	})
}

func TestWhatStartsTheDelaysAnew(t *testing.T) {
	for name, anew := range map[string]func(*queue) int64{
		"a success":                 func(q *queue) int64 { q.succeeded(collectorOf(1)); return 1 },
		"a change of the Collector": func(*queue) int64 { return 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, wait := started(t)
				for range 3 {
					q.failed(collectorOf(1))
					wait()
				}
				q.failed(collectorOf(anew(q)))
				if waited := wait(); waited != firstDelay {
					t.Errorf("waited %s", waited)
				}
			})
		})
	}
}

func TestAFailureReadsLikeItsCauseAndIsTerminal(t *testing.T) {
	cause := errors.New("broken")
	err := error(failure{cause})
	if err.Error() != "broken" || !errors.Is(err, cause) {
		t.Errorf("%v has lost its cause", err)
	}
	if !errors.Is(err, reconcile.TerminalError(nil)) || errors.Is(err, context.Canceled) {
		t.Error("the controller would requeue at once")
	}
}
