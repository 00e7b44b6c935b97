package flow

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestAPodOfACanaryIsAskedAtEachLook(t *testing.T) {
	flows, fails := codeOf("Flowing"), codeOf("ExportFails")
	known := func(pods ...pod) memory { return memory{pods: pods, isForDoubt: true} }
	for name, row := range map[string]struct {
		known    memory
		canaries []types.UID
		want     [mostPods]types.UID
	}{
		"without a verdict": {
			known(pod{uid: "a", read: 1, verdict: flows}, pod{uid: "b", read: 2, verdict: flows}, pod{uid: "c", read: 3}),
			[]types.UID{"c"}, [...]types.UID{"c", "a"},
		},
		"with a verdict": {
			known(pod{uid: "a", read: 1, verdict: flows}, pod{uid: "b", read: 2, verdict: flows}, pod{uid: "c", read: 3, verdict: flows}),
			[]types.UID{"c"}, [...]types.UID{"c", "a"},
		},
		"before one in doubt": {
			known(pod{uid: "a", read: 1, verdict: flows}, pod{uid: "b", read: 2, verdict: flows, says: fails, times: 1}, pod{uid: "c", read: 3, verdict: flows}),
			[]types.UID{"c"}, [...]types.UID{"c", "b"},
		},
		"before one that only loses another share": {
			known(pod{uid: "a", read: 1, verdict: flows}, pod{uid: "b", read: 2, verdict: fails, says: fails, times: 1}, pod{uid: "c", read: 3, verdict: flows}),
			[]types.UID{"c"}, [...]types.UID{"c", "a"},
		},
		"of several, the one that was asked longest ago": {
			known(pod{uid: "a", read: 1, verdict: flows}, pod{uid: "b", read: 2, verdict: flows}, pod{uid: "c", read: 4}, pod{uid: "d", read: 3, verdict: flows}),
			[]types.UID{"c", "d"}, [...]types.UID{"d", "a"},
		},
		"one that does badly, and another one that can show whether all do": {
			known(pod{uid: "a", read: 1, sampled: 1, verdict: flows}, pod{uid: "b", read: 2, sampled: 2, verdict: flows},
				pod{uid: "c", read: 3, verdict: flows, says: fails, saying: run{since: 2}, times: 1}),
			[]types.UID{"c"}, [...]types.UID{"c", "b"},
		},
		"one that does badly, and another one has shown that it is the only one": {
			known(pod{uid: "a", read: 1, sampled: 1, verdict: flows}, pod{uid: "b", read: 2, sampled: 2, verdict: flows, latest: 2},
				pod{uid: "c", read: 3, verdict: fails, of: run{since: 2}}),
			[]types.UID{"c"}, [...]types.UID{"c", "a"},
		},
	} {
		present := make([]types.UID, 0, len(row.known.pods))
		for _, p := range row.known.pods {
			present = append(present, p.uid)
		}
		if got := row.known.next(present, row.canaries...); !slices.Equal(got, row.want[:]) {
			t.Errorf("%s: asked %v, want %v", name, got, row.want)
		}
	}
}

// One pod is always in doubt, and a pod of a canary always does badly.
func TestAProofKeepsNoPodWaiting(t *testing.T) {
	const others, looks = 9, 60
	asked := map[types.UID]int{}
	proving(others, 0, looks, func(look int, pod types.UID) *Sample {
		page := losing(0, never, never, false)(look, pod)
		if look < 0 {
			return page
		}
		asked[pod]++
		if pod == "old 0" && asked[pod]%2 == 1 { // now it drops all, and now it does nothing
			page.values[received]++
		}
		if pod == "old 0" {
			page.values[received] -= 1000 * float64(look)
			page.values[sent] -= 1000 * float64(look)
		}
		if pod == canary {
			page.values[sent] = 0
		}
		return page
	})
	for pod, times := range asked {
		if len(asked) != others+1 || times < looks/2/others {
			t.Errorf("%s is asked %d times in %d looks, of %d pods", pod, times, looks, len(asked))
		}
	}
}

// A verdict is of the time when a reconcile asks for it, and can be from before the watcher's start.
func TestAComparisonKnowsSinceWhenPodsAreWatched(t *testing.T) {
	collector := collectorWith("a", nil)
	started := newWatcher(nil, nil)
	start := time.Now()
	started.began = started.began.Add(-time.Hour)
	for name, row := range map[string]struct {
		watcher *Watcher
		want    time.Time
	}{
		"one that has started": {started, start.Add(-time.Hour)},
		"one that will":        {&Watcher{}, start},
	} {
		if _, began := row.watcher.Verdicts(collector); began.Sub(row.want).Abs() > time.Minute/2 {
			t.Errorf("%s began at %s, want %s", name, began, row.want)
		}
	}
}
