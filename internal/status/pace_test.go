package status

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// news is what happens to a Collector's pods.
type news struct {
	at     float64 // s
	urgent urgency
}

func always(context.Context, client.ObjectKey) bool { return true }

// every returns news of one urgency at regular times, in s.
func every(from, interval, until float64, urgent urgency) (happens []news) {
	for at := from; at < until; at += interval {
		happens = append(happens, news{at, urgent})
	}
	return happens
}

// follow has news told to a pacer, with passes that last as long as they are told to, and returns when passes began, in
// s. It fails the test if news was not followed by a pass in time.
func follow(t *testing.T, happens []news, passLasts time.Duration) (passes []float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		collector := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"}}
		began := time.Now()
		go func() {
			for {
				request, ended := queue.Get()
				if ended {
					return
				}
				passes = append(passes, time.Since(began).Seconds())
				time.Sleep(passLasts) //nolint:forbidigo // of the bubble's clock
				queue.Done(request)
			}
		}()
		pacer := newPacer(always)
		for _, n := range happens {
			time.Sleep(time.Until(began.Add(time.Duration(n.at * float64(time.Second))))) //nolint:forbidigo // of the bubble's clock
			pacer.ask(t.Context(), queue, collector, n.urgent)
		}
		time.Sleep(2 * longest) //nolint:forbidigo // of the bubble's clock
		queue.ShutDown()
		synctest.Wait()
	})
	for _, n := range happens {
		next := slices.IndexFunc(passes, func(at float64) bool { return at > n.at })
		if next < 0 || passes[next]-n.at > (longest+passLasts).Seconds() {
			t.Errorf("news after %g s is not seen in time by the passes %v", n.at, passes)
		}
	}
	return passes
}

func TestThePaceOfPasses(t *testing.T) {
	tests := map[string]struct {
		happens   []news
		passLasts time.Duration
		want      []float64
	}{
		"the first news is seen at once, with what belongs to it": {
			happens: []news{{0, detail}, {0.1, turn}, {0.4, detail}},
			want:    []float64{0.5},
		},
		"news that comes now and then is seen at once": {
			happens: every(0, 40, 200, detail),
			want:    []float64{0.5, 40.5, 80.5, 120.5, 160.5},
		},
		"a rollout of three pods is followed as it happens, and its end is seen at once": {
			happens: slices.Concat([]news{{0, rollout}}, every(1, 1, 12, detail), []news{{12, turn}}),
			want:    []float64{0.5, 2.5, 4.5, 6.5, 10.5, 12.5},
		},
		"a rollout of ten pods is followed ever more slowly, and its end is seen at once": {
			happens: slices.Concat([]news{{0, rollout}}, every(1, 2, 60, detail), []news{{61, turn}}),
			want:    []float64{0.5, 2.5, 4.5, 6.5, 10.5, 18.5, 31.5, 47.5, 61.5},
		},
		"a workload that becomes ready is not kept waiting by details": {
			happens: append(every(0, 0.5, 20, detail), news{20.25, turn}),
			want:    []float64{0.5, 2.5, 4.5, 6.5, 10.5, 18.5, 20.75},
		},
		"a new spec is followed as if nothing had been before it": {
			happens: slices.Concat(every(0, 1, 120, turn), []news{{121, rollout}}, every(122, 1, 126, detail)),
			want:    []float64{0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 16.5, 24.5, 32.5, 48.5, 64.5, 91.5, 121.5, 123.5, 125.5},
		},
		"calm for as long as the longest time between passes makes them come at once again": {
			happens: append(every(0, 1, 120, turn), news{170, turn}),
			want:    []float64{0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 16.5, 24.5, 32.5, 48.5, 64.5, 91.5, 121.5, 170.5},
		},
		"news that comes during a pass brings another": {
			happens:   []news{{0, detail}, {1, detail}, {5, detail}},
			passLasts: 10 * time.Second,
			want:      []float64{0.5, 10.5},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := follow(t, test.happens, test.passLasts); !slices.Equal(got, test.want) {
				t.Errorf("passes after %v s, want %v", got, test.want)
			}
		})
	}
}

func TestFlappingForMinutesCostsTwoPassesAMinute(t *testing.T) {
	for name, row := range map[string]struct {
		urgent      urgency
		firstMinute int
	}{
		"when the workload is ready and not ready in turn": {turn, 11},
		"when only the pods' troubles change":              {detail, 8},
	} {
		for _, interval := range []float64{0.1, 1, 1.5, 7} {
			t.Run(fmt.Sprintf("%s every %g s", name, interval), func(t *testing.T) {
				passes := follow(t, every(0, interval, 600, row.urgent), 0)
				perMinute := make([]int, 11)
				for _, at := range passes {
					perMinute[int(at/60)]++
				}
				if perMinute[0] > row.firstMinute || slices.Max(perMinute[2:]) > 2 {
					t.Errorf("%v passes in each minute, want at most %d in the first and 2 from the third", perMinute, row.firstMinute)
				}
			})
		}
	}
}

func TestNothingIsKeptOfCalmCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		pacer := newPacer(always)
		for i := range 1000 {
			pacer.ask(t.Context(), queue, reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}, detail)
		}
		time.Sleep(2 * longest) //nolint:forbidigo // of the bubble's clock
		pacer.ask(t.Context(), queue, reconcile.Request{}, detail)
		if kept := pacer.paces.Len(); kept != 1 {
			t.Errorf("%d Collectors are remembered, want only that with news", kept)
		}
	})
}

func TestNewsOfWhatIsNotForTheReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		chosen := false
		pacer := newPacer(func(context.Context, client.ObjectKey) bool { return chosen })
		passesAfter := func(news urgency) int {
			pacer.ask(t.Context(), queue, reconcile.Request{}, news)
			time.Sleep(shortest) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			passes := queue.Len()
			for range passes {
				request, _ := queue.Get()
				queue.Done(request)
			}
			return passes
		}
		for _, chosen = range []bool{false, true, false, true} {
			if passes := passesAfter(detail); (passes == 1) != chosen {
				t.Errorf("%d passes over a Collector, which is for the reconciler: %t", passes, chosen)
			}
			if kept := pacer.paces.Len(); (kept == 1) != chosen {
				t.Errorf("%d Collectors are remembered; the only one is for the reconciler: %t", kept, chosen)
			}
		}
	})
}

func TestNewsAfterARetryThatTookThePlaceOfAPassIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		collector := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"}}
		pacer := newPacer(always)
		pacer.ask(t.Context(), queue, collector, detail)
		queue.AddRateLimited(collector) // the status was written by somebody else meanwhile
		request, _ := queue.Get()
		queue.Done(request)
		pacer.ask(t.Context(), queue, collector, detail)
		time.Sleep(together) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if queue.Len() != 1 {
			t.Error("no pass begins after the news")
		}
	})
}
