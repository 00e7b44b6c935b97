package operator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube8/kube8-operator/internal/queue"
)

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "acme", Name: name}}
}

// newTestQueue returns a queue, whose rate limiter knows no Collector. It ends with the test's bubble.
func newTestQueue(t *testing.T) priorityqueue.PriorityQueue[reconcile.Request] {
	t.Helper()
	made, ok := queue.New(t.Name(), limiterOf(new(collectorOf(1)))).(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		t.Fatal("no priority queue")
	}
	t.Cleanup(made.ShutDown)
	return made
}

func TestAChangeOfAUserComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		changed := &handler.EnqueueRequestForObject{}
		user := 0
		// As the controller does, which gives what it adds the priority of the reconcile before it.
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &user}, requestOf("a retry"))
		q.AddWithOpts(priorityqueue.AddOpts{After: 3 * time.Second, Priority: &user}, requestOf("what is due"))
		q.AddAfter(requestOf("news of pods"), 4*time.Second)
		q.AddRateLimited(requestOf("another retry"))
		there := collectorOf(1)
		there.SetName("there at the start")
		changed.Create(t.Context(), event.CreateEvent{Object: there, IsInInitialList: true}, q)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		created := collectorOf(1)
		created.SetName("created by a user")
		changed.Create(t.Context(), event.CreateEvent{Object: created}, q)
		updated := collectorOf(1)
		updated.SetName("what is due") // and changed by a user
		before := updated.DeepCopy()
		updated.SetResourceVersion("2")
		changed.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: updated}, q)
		var order []string
		for range 6 {
			request, _ := q.Get()
			order = append(order, request.Name)
			q.Done(request)
		}
		first, last := order[:2], order[2:]
		slices.Sort(first)
		want := []string{"created by a user", "what is due", "there at the start", "a retry", "another retry", "news of pods"}
		if got := slices.Concat(first, last); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAnEventDuringAReconcileBringsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		for range 3 {
			q.Add(requestOf("a"))
		}
		first, _ := q.Get()
		for range 3 {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, requestOf("a"), requestOf("b"))
		}
		q.Add(requestOf("b")) // which a user changes now
		q.Done(first)
		second, _ := q.Get()
		third, _ := q.Get()
		synctest.Wait()
		if first.Name != "a" || second.Name != "b" || third.Name != "a" || q.Len() != 0 {
			t.Errorf("got %s, %s, %s, and %d more", first.Name, second.Name, third.Name, q.Len())
		}
	})
}

func TestWhatTheOperatorAsksForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q, own := newTestQueue(t), make(requests)
		go own.ask(ctx, collectorOf(1), time.Minute) // waits until the controller has started
		synctest.Wait()
		if err := own.source().Start(ctx, workqueue.TypedRateLimitingInterface[reconcile.Request](q)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		request, _ := q.Get()
		if waited := time.Since(began); request != gateway || waited != time.Minute {
			t.Errorf("%s after %s", request, waited)
		}
		q.Done(request)
		own.ask(ctx, collectorOf(1), 0)
		synctest.Wait()
		q.Add(requestOf("changed by a user"))
		for _, want := range []reconcile.Request{requestOf("changed by a user"), gateway} {
			if request, _ = q.Get(); request != want {
				t.Errorf("got %s, want %s", request, want)
			}
			q.Done(request)
		}
		cancel()
		synctest.Wait()
		own.ask(ctx, collectorOf(1), 0) // does not wait for a controller that has ended
	})
}
