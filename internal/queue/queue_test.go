package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newTestQueue(t *testing.T, workers int) *queue {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	made, isOurs := New(workers)(t.Name(), limiter).(*queue)
	if !isOurs {
		t.Fatal("another queue")
	}
	t.Cleanup(made.ShutDown)
	return made
}

func requestOf(name string) reconcile.Request {
	namespace, name, _ := strings.Cut(name, "/")
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

// Steps add a request (+), one at low priority (-), one after a second (1s), or end the reconcile of one (!). A name alone is what a
// worker gets next, and ? says that it gets nothing.
func TestWhoIsNext(t *testing.T) {
	for name, row := range map[string]struct {
		workers int
		steps   string
	}{
		"all workers are for one namespace if nobody else waits": {4, "+a/1 +a/2 +a/3 +a/4 a/1 a/2 a/3 a/4"},
		"half of them are if others wait":                        {4, "+a/1 +a/2 +a/3 +a/4 +b/1 a/1 a/2 b/1 a/3"},
		"the larger half of an odd number":                       {3, "+a/1 +a/2 +a/3 +a/4 +b/1 a/1 a/2 b/1"},
		"others come before what waits already":                  {4, "+a/1 +a/2 +a/3 +a/4 +a/5 a/1 a/2 +b/1 +b/2 b/1 b/2 !b/1 a/3"},
		"what was parked comes before what is added":             {2, "+a/1 +a/2 +b/1 a/1 b/1 +a/3 !a/1 a/2 !a/2 a/3"},
		"a worker that is done makes room":                       {2, "+a/1 +a/2 +b/1 +b/2 a/1 b/1 !a/1 a/2 !a/2 !b/1 b/2"},
		"what is parked is there once":                           {2, "+a/1 +a/2 +b/1 a/1 b/1 +a/2 +a/2 !a/1 a/2 !b/1 ?"},
		"a change of a user comes before what is parked":         {2, "+a/1 -a/2 -a/3 -b/1 a/1 b/1 +a/3 !a/1 a/3 !a/3 a/2"},
		"retries of others count once they are due":              {2, "+a/1 a/1 1s:b/1 +a/2 a/2 +a/3 wait !a/1 b/1 !a/2 a/3"},
		"a change during a reconcile brings another":             {2, "+a/1 a/1 +a/1 +a/1 ? !a/1 a/1 !a/1 ?"},
		"changes during a reconcile keep nothing parked":         {6, "+a/1 +a/2 +a/3 +a/4 +b/1 a/1 a/2 a/3 +a/1 +a/2 +a/3 b/1 +b/1 a/4"},
		"what has waited for long has one turn in four":          {1, "-v/1 -v/2 +a/1 a/1 !a/1 +b/1 b/1 !b/1 +a/1 a/1 !a/1 late +b/1 +a/2 +a/3 b/1 !b/1 v/1 !v/1 a/2 !a/2 a/3"},
		"a change of a user comes before others that are parked": {4, "+a/1 +a/2 a/1 a/2 -a/3 -a/4 -a/5 -b/1 b/1 +a/4 -d/1 !a/1 a/4"},
		"a change that is parked comes before retries":           {4, "-a/1 -a/2 -b/1 -c/1 -a/3 -a/4 -a/5 a/1 a/2 +a/9 b/1 !a/1 !a/2 a/9"},
		"one worker": {1, "+a/1 +a/2 +b/1 a/1 !a/1 a/2 !a/2 b/1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue(t, row.workers)
				got := make(chan reconcile.Request)
				for i, step := range strings.Fields(row.steps) {
					synctest.Wait()
					switch {
					case step[0] == '+':
						q.Add(requestOf(step[1:]))
					case step[0] == '-':
						q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, requestOf(step[1:]))
					case strings.HasPrefix(step, "1s:"):
						q.AddAfter(requestOf(step[3:]), time.Second)
					case step == "wait":
						time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
					case step == "late":
						time.Sleep(longestWait) //nolint:forbidigo // of the bubble's clock
					case step[0] == '!':
						q.Done(requestOf(step[1:]))
					default:
						go func() {
							if request, isOver := q.Get(); !isOver {
								got <- request
							}
						}()
						synctest.Wait()
						select {
						case request := <-got:
							if request.String() != step {
								t.Fatalf("step %d: got %s, want %s", i+1, request, step)
							}
						default:
							if step != "?" {
								t.Fatalf("step %d: got nothing, want %s", i+1, step)
							}
						}
					}
				}
			})
		})
	}
}

// Collectors of two namespaces change faster than the workers can reconcile them.
func TestRetriesAreNotOvertakenForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t, 4)
		late, took, began := requestOf("late/1"), time.Duration(0), time.Now()
		for i := range 12 {
			q.Add(requestOf(fmt.Sprintf("hostile-%d/%d", i%2, i)))
		}
		for range 4 {
			go func() {
				for time.Since(began) < time.Minute {
					request, _ := q.Get()
					if request == late {
						took = time.Since(began)
					} else {
						time.Sleep(5 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
						q.Add(request)
					}
					q.Done(request)
				}
			}()
		}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, late)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // of the bubble's clock
		if took == 0 || took > longestWait+time.Second {
			t.Errorf("reconciled after %s", took)
		}
	})
}

// Each request is handed out, to one worker at a time, and nothing is remembered of it then.
func TestEachRequestIsHandedOut(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 26))
			workers := 1 + random.IntN(5)
			q := newTestQueue(t, workers)
			want, begun, has := map[reconcile.Request]time.Time{}, map[reconcile.Request]bool{}, 0
			mutex := make(chan bool, 1)
			for number := range workers {
				go func() {
					random := rand.New(rand.NewPCG(seed, uint64(number)))
					for {
						request, isOver := q.Get()
						if isOver {
							return
						}
						mutex <- true
						if begun[request] {
							t.Errorf("seed %d: two workers have %s", seed, request)
						}
						begun[request] = true
						delete(want, request)
						has++
						takes := time.Duration(random.IntN(3000)) * time.Millisecond
						<-mutex
						time.Sleep(takes) //nolint:forbidigo // of the bubble's clock
						mutex <- true
						begun[request] = false
						has--
						<-mutex
						q.Done(request)
					}
				}()
			}
			for range 200 {
				request := requestOf(fmt.Sprintf("%c/%d", 'a'+rune(random.IntN(1+random.IntN(4))), random.IntN(20)))
				opts := priorityqueue.AddOpts{Priority: new(-random.IntN(2) * 100), RateLimited: random.IntN(8) == 0}
				if random.IntN(4) == 0 {
					opts.After = time.Duration(random.IntN(2000)) * time.Millisecond
				}
				mutex <- true
				want[request] = time.Now()
				<-mutex
				q.AddWithOpts(opts, request)
				if random.IntN(3) == 0 {
					time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond) //nolint:forbidigo // of the bubble's clock
				}
			}
			time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			if len(want) > 0 || has > 0 || len(q.shares.ready)+len(q.shares.later)+len(q.shares.parked)+len(q.shares.busy)+len(q.shares.working)+q.shares.all > 0 {
				t.Errorf("seed %d: %d requests wait, %d are worked on: %+v", seed, len(want), has, slices.Collect(maps.Keys(q.shares.parked)))
			}
		})
	}
}

// The library's queue can keep a lock for ever when it ends while it hands out a request (see queue.ShutDown).
func TestWorkersEndWithTheQueue(t *testing.T) {
	for round := range 3000 {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
		q := New(4)("", limiter)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for {
					request, isOver := q.Get()
					if isOver {
						return
					}
					q.AddAfter(request, time.Microsecond)
					q.Done(request)
				}
			})
		}
		for number := range 20 {
			q.Add(requestOf(fmt.Sprintf("a/%d", number)))
		}
		q.ShutDown()
		ended := make(chan bool)
		go func() {
			workers.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("in round %d a worker waits although the queue has ended", round)
		}
	}
}
