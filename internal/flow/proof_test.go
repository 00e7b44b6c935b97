package flow

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// canary is the pod that proves a change.
const canary = "new"

// pages return what a pod has counted at a look. The canary is there from the first one; looks before it are negative.
type pages func(look int, pod types.UID) *Sample

// proving has a canary pod join others that have been settled for so many looks, and returns how it compares with them after each look.
func proving(others, settled, looks int, page pages) (found []Comparison) {
	present, known, reason := make([]types.UID, 0, others+1), memory{}, v1alpha1.ReasonFlowing
	for i := range others {
		present = append(present, types.UID(fmt.Sprint("old ", i)))
	}
	for look := -4*others - settled; look < looks; look++ {
		if look == 0 {
			present = append(present, canary)
		}
		var answers []answer
		for _, uid := range known.next(present, present[others:]...) {
			answers = append(answers, answer{uid: uid, sample: page(look, uid)})
		}
		reason, known = decide(reason, known, present, answers, Period*time.Duration(1000+look))
		if look < 0 {
			continue
		}
		var ofCanary, ofOthers []Verdict
		for _, p := range known.pods {
			switch {
			case p.verdict == 0:
			case p.uid == canary:
				ofCanary = append(ofCanary, p.judged())
			default:
				ofOthers = append(ofOthers, p.judged())
			}
		}
		found = append(found, Compare(ofCanary, ofOthers, false))
	}
	return found
}

// losing returns pages of pods whose data flows, and that lose a share of it between two looks. If isQueued, that share waits instead.
func losing(share float64, from, until int, isQueued bool) pages {
	return func(look int, _ types.UID) *Sample {
		in := 1000 * float64(1000+look)
		lost := 1000 * share * float64(max(0, min(look, until)-from))
		page := counts(in, in-lost)
		if isQueued && look >= until {
			return counts(in, in)
		}
		if isQueued {
			page.values[queued], page.values[capacity] = lost, 1e6
			return page
		}
		page.values[dropped] = lost
		page.total += lost
		return page
	}
}

// and returns pages of pods that lose what others lose, too.
func (p pages) and(others pages) pages {
	return func(look int, pod types.UID) *Sample {
		page, more := p(look, pod), others(look, pod).values[dropped]
		page.values[sent] -= more
		page.values[dropped] += more
		return page
	}
}

// only returns pages of the canary, and others.
func only(ofCanary, ofOthers pages) pages {
	return func(look int, pod types.UID) *Sample {
		if pod == canary {
			return ofCanary(look, pod)
		}
		return ofOthers(look, pod)
	}
}

// idling returns pages of pods that have data only from one look until another.
func idling(from, until int) pages {
	return func(look int, _ types.UID) *Sample {
		n := 1000 * float64(1000+max(from, min(look, until)))
		return counts(n, n)
	}
}

const always, never = -1000, 1000 // looks

// A look is every 50 seconds, so 5 of them are less than 5 minutes.
func TestABadChangeIsFoundInFiveLooks(t *testing.T) {
	works := losing(0, never, never, false)
	for _, row := range []struct {
		name     string
		page     pages
		from     int
		isSilent bool
	}{
		{"an exporter that is dead from the start", only(losing(1, always, never, false), works), 0, false},
		{"an exporter with a queue that is dead from the start", only(losing(1, always, never, true), works), 0, false},
		{"an exporter that dies later", only(losing(1, 12, never, false), works), 12, false},
		{"an exporter that loses a part", only(losing(0.6, always, never, false), works), 0, false},
		{"an exporter that loses more than the others", only(losing(0.6, always, never, false), losing(0.02, always, never, false)), 0, false},
		{"an exporter that loses more than the others later", only(losing(0.02, always, never, false).and(losing(0.58, 12, never, false)),
			losing(0.02, always, never, false)), 12, false},
		{"a pod that takes nothing in", only(idling(0, 0), works), 0, true},
	} {
		for others := 2; others < 10; others++ {
			for settled := range 2 * others {
				at := -1
				for look, found := range proving(others, settled, 30, row.page) {
					if at < 0 && (found.Worse != "" || found.IsSilent) {
						at = look
					}
					if at >= 0 && found.IsSilent != row.isSilent {
						t.Errorf("%s, %d others: silent %t, %q", row.name, others, found.IsSilent, found.Worse)
					}
				}
				if took := at - row.from + 1; at < 0 || took > 5 {
					t.Errorf("%s, %d others settled for %d: found after %d looks", row.name, others, settled, took)
				}
			}
		}
	}
}

func TestWhatHappensToAllPodsIsNoFaultOfAChange(t *testing.T) {
	some := losing(0.02, always, never, false)
	for _, row := range []struct {
		name string
		page func(from int) pages
	}{
		{"an outage", func(from int) pages { return losing(1, from, never, false) }},
		{"an outage with a queue", func(from int) pages { return losing(1, from, never, true) }},
		{"an outage of 2 looks", func(from int) pages { return losing(1, from, from+2, false) }},
		{"an outage of 3 looks", func(from int) pages { return losing(1, from, from+3, false) }},
		{"an outage of 4 looks with a queue", func(from int) pages { return losing(1, from, from+4, true) }},
		{"an outage of 6 looks", func(from int) pages { return losing(1, from, from+6, false) }},
		{"a half that is lost", func(from int) pages { return losing(0.5, from, never, false) }},
		{"a peak of what is lost for 1 look", func(from int) pages { return some.and(losing(0.6, from, from+1, false)) }},
		{"a peak of what is lost for 2 looks", func(from int) pages { return some.and(losing(0.6, from, from+2, false)) }},
		{"a peak of what is lost for 3 looks", func(from int) pages { return some.and(losing(0.6, from, from+3, false)) }},
		{"more that is lost from now on", func(from int) pages { return some.and(losing(0.4, from, never, false)) }},
		{"the end of all traffic", func(from int) pages { return idling(always, from) }},
	} {
		for _, others := range []int{1, 2, 3, 5, 9, 20} {
			for from := -3; from < 15; from++ {
				for look, found := range proving(others, from+3, 40, row.page(from)) {
					if found.Worse != "" || found.IsSilent {
						t.Errorf("%s at look %d, %d others: %+v at look %d", row.name, from, others, found, look)
						break
					}
				}
			}
		}
	}
}

func TestTheVerdictOfACanaryIsOfNow(t *testing.T) {
	works := losing(0, never, never, false)
	for _, others := range []int{2, 9, 30} {
		for look, found := range proving(others, 0, 30, only(idling(8, never), works)) {
			if want := look >= 10; look >= 7 && found.IsKnown != want && !found.IsSilent || found.IsSilent && want {
				t.Errorf("data came at look 8, %d others: %+v at look %d", others, found, look)
			}
		}
	}
}
