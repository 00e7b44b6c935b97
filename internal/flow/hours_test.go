package flow

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// counts returns a page.
func counts(in, out float64) *Sample {
	return &Sample{values: [roles]float64{received: in, sent: out}, total: in + out}
}

// hours has a day pass, and returns the condition after each look. pages are those of the pods that can be asked then. One without a page
// does not answer.
func hours(current string, pages func(look int) map[types.UID]*Sample) (told []string) {
	var last memory
	for look := range int(24 * time.Hour / Period) {
		shown := pages(look)
		current, last = decide(current, last, slices.Sorted(maps.Keys(shown)), answersOf(last, shown), Period*time.Duration(look+1))
		told = append(told, current)
	}
	return told
}

// answersOf are those of the pods that are asked next.
func answersOf(known memory, shown map[types.UID]*Sample) (answers []answer) {
	for _, uid := range known.next(slices.Sorted(maps.Keys(shown))) {
		a := answer{uid: uid, sample: shown[uid]}
		if a.sample == nil {
			a.why = v1alpha1.ReasonUnreachable
		}
		answers = append(answers, a)
	}
	return answers
}

// killed are pods that send nothing, run so long and then are not ready for a while, by turns.
func killed(pods int, run, wait time.Duration) func(int) map[types.UID]*Sample {
	return func(look int) map[types.UID]*Sample {
		shown := map[types.UID]*Sample{}
		for i := range pods {
			at := (Period*time.Duration(look) + (run+wait)/time.Duration(pods)*time.Duration(i)) % (run + wait)
			if at < run {
				shown[types.UID(fmt.Sprint("pod ", i))] = counts(1+at.Seconds(), 0)
			}
		}
		return shown
	}
}

// unready are 3 pods that send nothing, each not ready at one look of so many.
func unready(every int) func(int) map[types.UID]*Sample {
	return func(look int) map[types.UID]*Sample {
		shown := map[types.UID]*Sample{}
		for i := range 3 {
			if (look+i)%every > 0 {
				shown[types.UID(fmt.Sprint("pod ", i))] = counts(float64(look), 0)
			}
		}
		return shown
	}
}

func TestADeadBackendIsToldWhateverBecomesOfThePods(t *testing.T) {
	for _, row := range []struct {
		name  string
		pages func(look int) map[types.UID]*Sample
		looks int // until it is told
	}{
		{"pods that are not ready at one look of 2", unready(2), 6},
		{"pods that are not ready at one look of 3", unready(3), 6},
		{"pods that are killed after 100 seconds, and are back 30 seconds later", killed(3, 100*time.Second, 30*time.Second), 6},
		{"pods that are killed after 3 minutes", killed(6, 3*time.Minute, time.Minute), 6},
		{"many pods that are killed after 8 minutes", killed(20, 8*time.Minute, time.Minute), 20},
		{"pods whose counts begin anew at every other look", func(look int) map[types.UID]*Sample {
			return map[types.UID]*Sample{"a": counts(float64(1+look%2), 0), "b": counts(float64(1+look%2), 0)}
		}, 3},
	} {
		told := hours(v1alpha1.ReasonFlowing, row.pages)
		for look, reason := range told {
			if look >= row.looks && codeOf(reason).status() != "False" {
				t.Errorf("%s: %s after %s", row.name, reason, Period*time.Duration(look))
				break
			}
		}
	}
}

// healthy are pods whose data flows. Each of them has such a name, and the page that page returns.
func healthy(names func(look int) []string, page func(look int, name string) *Sample) func(int) map[types.UID]*Sample {
	return func(look int) map[types.UID]*Sample {
		shown := map[types.UID]*Sample{}
		for _, name := range names(look) {
			shown[types.UID(name)] = page(look, name)
		}
		return shown
	}
}

// replaced are names of pods: all but the first are replaced in turn, one each so many looks.
func replaced(pods, every int) func(look int) []string {
	return func(look int) []string {
		names := []string{"pod 0"}
		for i := range pods - 1 {
			generation := 0
			if every > 0 {
				generation = (look/every + i) / (pods - 1)
			}
			names = append(names, fmt.Sprintf("pod %d of generation %d", i+1, generation))
		}
		return names
	}
}

func TestARecoveryIsToldWhateverBecomesOfThePods(t *testing.T) {
	flows := func(look int, _ string) *Sample { return counts(float64(look+1), float64(look+1)) }
	for _, row := range []struct {
		name, current string
		pages         func(look int) map[types.UID]*Sample
		within        time.Duration
	}{
		{"one pod", v1alpha1.ReasonExportFails, healthy(replaced(1, 0), flows), 3 * time.Minute},
		{"24 pods, after another operator leads", v1alpha1.ReasonPartlyDropped, healthy(replaced(24, 0), flows), 7 * time.Minute},
		{"a pod whose counts begin anew at each look, beside others", v1alpha1.ReasonExportFails,
			healthy(replaced(3, 0), func(look int, name string) *Sample {
				if name == "pod 0" {
					return counts(1/float64(look+1), 1/float64(look+1))
				}
				return flows(look, name)
			}), 7 * time.Minute},
		{"an autoscaler's pod that is another one after 100 seconds, beside others", v1alpha1.ReasonExportFails,
			func(look int) map[types.UID]*Sample {
				shown := healthy(replaced(3, 0), flows)(look)
				shown[types.UID(fmt.Sprint("new ", look/2))] = flows(look, "")
				return shown
			}, 7 * time.Minute},
		{"pods that send, or do nothing, at every other look, beside one", v1alpha1.ReasonExportFails,
			healthy(replaced(3, 0), func(look int, name string) *Sample {
				if name != "pod 0" {
					look = look / 4 * 4
				}
				return flows(look, name)
			}), 7 * time.Minute},
	} {
		told := hours(row.current, row.pages)
		for look, reason := range told {
			if after := Period * time.Duration(look); after > row.within && reason != v1alpha1.ReasonFlowing {
				t.Errorf("%s: %s after %s", row.name, reason, after)
				break
			}
		}
	}
}

// A pod loses some of its data for hours, and then none, while others are replaced all the time.
func TestAPartThatWasLostIsForgottenThoughPodsAreReplaced(t *testing.T) {
	for pods, every := range map[int]int{10: 5, 100: 36} {
		const bad = 10 * 72 // looks
		told := hours(v1alpha1.ReasonFlowing, healthy(replaced(pods, every), func(look int, name string) *Sample {
			page := counts(float64(look+1), float64(look+1))
			if name == "pod 0" {
				page.values[dropped] = float64(min(look, bad)) / 5
			}
			return page
		}))
		if lost := told[bad]; lost != v1alpha1.ReasonPartlyDropped {
			t.Errorf("%d pods: %s while a pod loses some of its data", pods, lost)
		}
		if last := told[len(told)-1]; last != v1alpha1.ReasonFlowing {
			t.Errorf("%d pods: %s 14 hours after the last loss", pods, last)
		}
	}
}

// A change that the operator brings is on its way until then.
func TestAHealthyCollectorIsObservedWithinItsDeadline(t *testing.T) {
	flows := func(look int, _ string) *Sample { return counts(float64(look+1), float64(look+1)) }
	for _, row := range []struct {
		name  string
		pages func(look int) map[types.UID]*Sample
		want  time.Duration
	}{
		{"one pod", healthy(replaced(1, 0), flows), 3 * Period},
		{"4 pods", healthy(replaced(4, 0), flows), 6 * Period},
		{"24 pods", healthy(replaced(24, 0), flows), 6 * Period},
		{"1000 pods", healthy(replaced(1000, 0), flows), 6 * Period},
		{"an autoscaler's pod that is another one after 100 seconds", func(look int) map[types.UID]*Sample {
			return map[types.UID]*Sample{"a": flows(look, ""), types.UID(fmt.Sprint("new ", look/2)): flows(look, "")}
		}, verdictTimeout * Period},
		{"a pod that answers every other time", func(look int) map[types.UID]*Sample {
			shown := map[types.UID]*Sample{"a": flows(look, ""), "b": nil}
			if look%2 > 0 {
				shown["b"] = flows(look, "")
			}
			return shown
		}, 6 * Period},
		{"one that now sends and now does nothing", healthy(replaced(1, 0), func(look int, _ string) *Sample {
			return flows(look/2*2, "")
		}), 5 * Period},
	} {
		known, began := memory{}, time.Duration(0)
		for look := 0; !known.isObserved && look < 100; look++ {
			began += Period
			shown := row.pages(look)
			_, known = decide(v1alpha1.ReasonFlowing, known, slices.Sorted(maps.Keys(shown)), answersOf(known, shown), began)
		}
		if began != row.want {
			t.Errorf("%s: observed after %s, want %s", row.name, began, row.want)
		}
	}
}

// bursts are of traffic, and of none, or of loss: each takes so many looks.
func bursts(looks int, isLoss bool) func(int) map[types.UID]*Sample {
	in, out := 0.0, 0.0
	return func(look int) map[types.UID]*Sample {
		isBurst := look/looks%2 == 0
		if isBurst || isLoss {
			in++
		}
		if isBurst {
			out++
		}
		return map[types.UID]*Sample{"a": counts(in, out)}
	}
}

func TestAConditionThatGoesToAndFroIsSeldomWritten(t *testing.T) {
	for _, row := range []struct {
		name          string
		pages         func(int) map[types.UID]*Sample
		first, hourly int // writes in the first hour, and in each later one
	}{
		{"100 seconds of traffic, and 100 of none", bursts(2, false), 2, 0},
		{"10 minutes of traffic, and 10 of none", bursts(12, false), 7, 5},
		{"a backend that is dead for 2 minutes of 4", bursts(3, true), 9, 5},
		{"a backend that is dead for 10 minutes of 20", bursts(12, true), 7, 5},
	} {
		told := hours("", row.pages)
		const hour = int(time.Hour / Period)
		writes := make([]int, 24)
		for look := 1; look < len(writes)*hour; look++ {
			if told[look] != told[look-1] {
				writes[look/hour]++
			}
		}
		if most := slices.Max(writes[1:]); writes[0] > row.first || most > row.hourly {
			t.Errorf("%s: %d writes in the first hour, want at most %d, and up to %d in others, want %d", row.name, writes[0], row.first, most, row.hourly)
		}
	}
}

// Half an hour after it has gone to and fro, a condition is told as soon as any other: that a backend dies, and that it recovers.
func TestADeadBackendIsToldSoonAfterAQuietTime(t *testing.T) {
	const dead, recovered = 12 * 72, 12*72 + 4
	flapping := bursts(3, true)
	told := hours("", func(look int) map[types.UID]*Sample {
		if look < dead-quiet-longest {
			return flapping(look)
		}
		out := min(look, dead)
		if look > recovered {
			out = look
		}
		return map[types.UID]*Sample{"a": counts(1e4+float64(look), 1e4+float64(out))}
	})
	if told[dead] != v1alpha1.ReasonFlowing || told[dead+windows] != v1alpha1.ReasonAllDropped || told[recovered+windows] != v1alpha1.ReasonFlowing {
		t.Errorf("%s while it works, %s %d looks after it died, and %s as many after its recovery",
			told[dead], told[dead+windows], windows, told[recovered+windows])
	}
}
