package status

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
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

// follow has news told to a pacer, with reconciles that last as long as they are told to, and returns when reconciles began, in
// s. It fails the test if news was not followed by a reconcile in time.
func follow(t *testing.T, happens []news, lasts time.Duration) (reconciles []float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[reconcile.Request](t.Name())
		collector := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"}}
		began := time.Now()
		go func() {
			for {
				request, ended := queue.Get()
				if ended {
					return
				}
				reconciles = append(reconciles, time.Since(began).Seconds())
				time.Sleep(lasts) //nolint:forbidigo // of the bubble's clock
				queue.Done(request)
			}
		}()
		pacer := newPacer(always)
		for _, n := range happens {
			time.Sleep(time.Until(began.Add(time.Duration(n.at * float64(time.Second))))) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()                                                               // a reconcile that is due at the same moment begins first
			pacer.ask(t.Context(), queue, collector, n.urgent)
		}
		time.Sleep(2 * longest) //nolint:forbidigo // of the bubble's clock
		queue.ShutDown()
		synctest.Wait()
	})
	for _, n := range happens {
		next := slices.IndexFunc(reconciles, func(at float64) bool { return at > n.at })
		if next < 0 || reconciles[next]-n.at > (longest+lasts).Seconds() {
			t.Errorf("news after %g s is not seen in time by the reconciles %v", n.at, reconciles)
		}
	}
	return reconciles
}

func TestThePaceOfReconciles(t *testing.T) {
	tests := map[string]struct {
		happens []news
		lasts   time.Duration
		want    []float64
	}{
		"the first news is seen at once, with what belongs to it": {
			happens: []news{{0, detail}, {0.1, turn}, {0.4, detail}},
			want:    []float64{0.5},
		},
		"news that comes now and then is seen at once": {
			happens: every(0, 70, 350, detail),
			want:    []float64{0.5, 70.5, 140.5, 210.5, 280.5},
		},
		"a rollout of three pods is followed as it happens, and its end is seen at once": {
			happens: slices.Concat([]news{{0, change}}, every(1, 1, 12, detail), []news{{12, turn}}),
			want:    []float64{0.5, 2, 4, 8, 12.5},
		},
		"a rollout of ten pods is followed ever more slowly, and its end is seen at once": {
			happens: slices.Concat([]news{{0, change}}, every(1, 2, 60, detail), []news{{61, turn}}),
			want:    []float64{0.5, 2, 5, 9, 17, 33, 61.5},
		},
		"a workload that becomes ready is not kept waiting by details": {
			happens: append(every(0, 0.5, 20, detail), news{20.25, turn}),
			want:    []float64{0.5, 1.5, 3.5, 7.5, 15.5, 20.75},
		},
		"a new spec is followed as if nothing had been before it": {
			happens: slices.Concat(every(0, 1, 120, turn), []news{{121, change}}, every(122, 1, 126, detail)),
			want:    []float64{0.5, 2, 4, 8, 16, 32, 62, 92, 121.5, 123, 125, 129},
		},
		"calm for twice the longest time between reconciles makes them come at once again": {
			happens: append(every(0, 1, 120, turn), news{190, turn}),
			want:    []float64{0.5, 2, 4, 8, 16, 32, 62, 92, 122, 190.5},
		},
		"news that comes during a reconcile brings another": {
			happens: []news{{0, detail}, {1, detail}, {5, detail}},
			lasts:   10 * time.Second,
			want:    []float64{0.5, 10.5},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := follow(t, test.happens, test.lasts); !slices.Equal(got, test.want) {
				t.Errorf("reconciles after %v s, want %v", got, test.want)
			}
		})
	}
}

func TestFlappingForMinutesCostsTwoReconcilesAMinute(t *testing.T) {
	for name, row := range map[string]struct {
		urgent      urgency
		firstMinute int
	}{
		"when the workload is ready and not ready in turn": {turn, 7},
		"when only the pods' troubles change":              {detail, 7},
	} {
		for _, interval := range []float64{0.1, 1, 1.5, 7} {
			t.Run(fmt.Sprintf("%s every %g s", name, interval), func(t *testing.T) {
				reconciles := follow(t, every(0, interval, 600, row.urgent), 0)
				perMinute := make([]int, 11)
				for _, at := range reconciles {
					perMinute[int(at/60)]++
				}
				if perMinute[0] > row.firstMinute || slices.Max(perMinute[2:]) > 2 {
					t.Errorf("%v reconciles in each minute, want at most %d in the first and 2 from the third", perMinute, row.firstMinute)
				}
			})
		}
	}
}

func TestNewsOfWhatIsNotForTheReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[reconcile.Request](t.Name())
		defer queue.ShutDown()
		chosen := false
		pacer := newPacer(func(context.Context, client.ObjectKey) bool { return chosen })
		reconcilesAfter := func(news urgency) int {
			pacer.ask(t.Context(), queue, reconcile.Request{}, news)
			time.Sleep(longest) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			reconciles := queue.Len()
			for range reconciles {
				request, _ := queue.Get()
				queue.Done(request)
			}
			return reconciles
		}
		for _, chosen = range []bool{false, true, false, true} {
			if reconciles := reconcilesAfter(detail); (reconciles == 1) != chosen {
				t.Errorf("%d reconciles over a Collector, which is for the reconciler: %t", reconciles, chosen)
			}
		}
	})
}

func TestNewsAfterARetryThatTookThePlaceOfAReconcileIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[reconcile.Request](t.Name())
		defer queue.ShutDown()
		collector := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"}}
		pacer := newPacer(always)
		pacer.ask(t.Context(), queue, collector, detail)
		queue.AddRateLimited(collector) // the status was written by another client meanwhile
		request, _ := queue.Get()
		queue.Done(request)
		pacer.ask(t.Context(), queue, collector, detail)
		time.Sleep(together) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if queue.Len() != 1 {
			t.Error("no reconcile begins after the news")
		}
	})
}
