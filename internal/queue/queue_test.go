package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newTestQueue(t *testing.T) *queue {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	made, isOurs := New(t.Name(), limiter).(*queue)
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
	for name, steps := range map[string]string{
		"a namespace alone gets all workers":                 "+a/1 +a/2 +a/3 +a/4 a/1 a/2 a/3 a/4",
		"namespaces take turns":                              "+a/1 +a/2 +a/3 +b/1 +b/2 +c/1 a/1 b/1 c/1 a/2 b/2 a/3",
		"they do with one worker":                            "+a/1 +a/2 +a/3 +b/1 a/1 !a/1 b/1 !b/1 a/2 !a/2 a/3",
		"the one with the fewest workers is next":            "+a/1 +a/2 +a/3 +a/4 a/1 a/2 +b/1 +b/2 +b/3 b/1 b/2 a/3 b/3 a/4",
		"a worker that is done counts no more":               "+a/1 +a/2 +a/3 a/1 a/2 +b/1 +b/2 b/1 !a/1 !a/2 a/3 b/2",
		"others come before what waits already":              "+a/1 +a/2 +a/3 +a/4 +a/5 a/1 a/2 +b/1 +b/2 b/1 b/2 !b/1 a/3",
		"what waits already comes before what is added":      "+a/1 +a/2 +b/1 a/1 b/1 +a/3 !a/1 a/2 !a/2 a/3",
		"what waits is there once":                           "+a/1 +a/2 +b/1 a/1 b/1 +a/2 +a/2 !a/1 a/2 !b/1 ?",
		"a change of a user comes before retries":            "-a/1 -a/2 -b/1 -c/1 a/1 +a/9 a/9 b/1 c/1 a/2",
		"a change of a user makes a retry urgent":            "-a/1 -a/2 -a/3 -b/1 +a/3 a/3 b/1 a/1 a/2",
		"what is urgent stays so":                            "+a/1 +b/1 -b/1 -c/1 -a/2 a/1 b/1 c/1 a/2",
		"retries of others are not urgent once they are due": "+a/1 a/1 1s:b/1 +a/2 a/2 +a/3 wait a/3 b/1",
		"a change during a reconcile brings another":         "+a/1 a/1 +a/1 +a/1 ? !a/1 a/1 !a/1 ?",
		"more news makes nothing urgent":                     "-a/1 -a/2 -b/1 -a/2 a/1 b/1 a/2",
		"a change of a user during a reconcile is urgent":    "+a/1 a/1 +a/1 -a/1 -b/1 !a/1 a/1 b/1",
		"what is delayed takes turns, too":                   "-a/1 -a/2 -b/1 -b/2 a/1 b/1 a/2 b/2",
		"what has waited for long has one turn in four": "-v/1 -v/2 -v/3 +a/1 a/1 !a/1 +b/1 b/1 !b/1 +a/1 a/1 !a/1 late " +
			"+b/1 +a/2 +a/3 +a/4 v/1 b/1 a/2 a/3 v/2 a/4 v/3",
		"what has not waited for long has none": "-v/1 +a/1 a/1 !a/1 +b/1 b/1 !b/1 +a/1 a/1 !a/1 wait +b/1 +a/2 +a/3 b/1 a/2 a/3 v/1",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue(t)
				got := make(chan reconcile.Request)
				for i, step := range strings.Fields(steps) {
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
		q := newTestQueue(t)
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
			q := newTestQueue(t)
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
			left := len(q.order.isUrgent) + len(q.order.busy) + len(q.order.urgent.turns) + len(q.order.delayed.turns) +
				len(q.order.urgent.shares) + len(q.order.delayed.shares) + q.Len()
			if len(want) > 0 || has > 0 || left > 0 {
				t.Errorf("seed %d: %d requests wait, %d are worked on: %+v", seed, len(want), has, q.order)
			}
		})
	}
}

func TestWorkersEndWithTheQueue(t *testing.T) {
	for name, requests := range map[string][]string{
		"while they wait for a request":       nil,
		"while they work and a request waits": {"a/1", "a/2", "b/1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue(t)
				for _, request := range requests {
					q.Add(requestOf(request))
				}
				var workers sync.WaitGroup
				var begun atomic.Int32
				for range 2 {
					workers.Go(func() {
						for request, isOver := q.Get(); !isOver; request, isOver = q.Get() {
							begun.Add(1)
							time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
							q.Done(request)
						}
					})
				}
				synctest.Wait()
				before := begun.Load()
				q.ShutDown()
				workers.Wait()
				if after := begun.Load(); after != before || int(before) != min(2, len(requests)) {
					t.Errorf("%d reconciles began, and %d of them after the queue had ended", after, after-before)
				}
			})
		})
	}
}
