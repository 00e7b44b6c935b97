package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// ProofTime is how much longer than Waves.Deadline a Collector with a canary may take: pods of a DaemonSet have to be ready for 15 minutes
// before a proof with the default hold, 5 minutes, begins. It has no room for a longer hold, so no tenant keeps others waiting.
const ProofTime = 20 * time.Minute

// place is where a Collector is. It is empty for one that has nothing to wait for.
type place struct {
	number   int       // from 1, by when it began to wait
	admitted time.Time // when its turn came; zero until then
	since    time.Time // when its turn came first, if it was held on its way; zero otherwise
	again    time.Time // when a further change came while it was on its way; zero otherwise
	expected time.Time // when the first change came that it has not been reconciled with; zero otherwise
	changed  time.Time // when the last of these came
}

// choice is whose turn it is, and how many Collectors are in each state.
type choice struct {
	Counts
	admitted, overdue []*unstructured.Unstructured
	busy              map[int]bool // rings with Collectors that are on their way, or admitted now
	begun             map[int]bool // rings whose turn has come, by the status of a Collector on its way
	passed            []int        // lower rings that were done before the operator started
}

// candidate is a Collector that waits.
type candidate struct {
	collector *unstructured.Unstructured
	place
	ring  int
	isNow bool
	rank  int // how many Collectors of its namespace come before it, or are on their way
}

// choose chooses those Collectors whose turn it is now. The turn of a ring comes when no Collector in a lower one is waited for, and
// mayBegin agrees. Each Collector that is on its way or overdue takes a place of the budget, so a change breaks no more of them.
// A Collector of a lower ring that breaks during the soak is overdue, too.
// Namespaces share the places. A namespace with a Collector that is overdue gets no more of them as long as others wait. If all that are
// overdue are of one namespace, one place is left for others: so no tenant holds the change for them, and it breaks at most one Collector
// more. A percentage is of the Collectors that the change concerns, or a change of few would break all of these, and one that takes no
// change adds nothing.
func (w *Waves) choose(collectors []unstructured.Unstructured, now time.Time) choice {
	chosen, ready := choice{busy: map[int]bool{}, begun: map[int]bool{}}, newest{}
	var waiting, broken []candidate
	open, taken, isStuck, takers := LastRing, map[string]int{}, map[string]bool{}, 0 // two of them by namespace
	for i := range collectors {
		collector := &collectors[i]
		at, isKnown := w.places[client.ObjectKeyFromObject(collector)]
		isPaused, _ := v1alpha1.IsPaused(collector) // what says neither yes nor no pauses nothing
		wish, ring, since := w.wishOf(collector), w.ringOf(collector), onItsWaySince(collector, at)
		isHeld := wish == v1alpha1.RolloutHold
		if collector.GetDeletionTimestamp() == nil && !isPaused && !isHeld {
			takers++
			ready.note(ring, collector)
		}
		switch {
		case collector.GetDeletionTimestamp() != nil || isPaused || isHeld && !since.IsZero():
			continue
		case !since.IsZero():
			taken[collector.GetNamespace()]++
			if at.expected.IsZero() && hasFailed(collector) || now.Sub(since) > w.deadlineOf(collector) {
				chosen.Overdue, chosen.overdue = chosen.Overdue+1, append(chosen.overdue, collector)
				isStuck[collector.GetNamespace()] = true
				continue
			}
			chosen.goOn(ring, wish != v1alpha1.RolloutNow && IsOnItsWay(collector))
		case !isKnown, !at.expected.IsZero():
			if isHeld || !isInstalled(collector) || w.isLate(collector, at, now) { // an installation takes what is there now
				continue
			}
		case at.number == 0:
			broken = append(broken, w.broken(collector, ring, now)...)
			continue
		case isHeld:
			chosen.LeftOut++
			continue
		default:
			chosen.Waiting++
			waiting = append(waiting, candidate{collector: collector, place: at, ring: ring, isNow: wish == v1alpha1.RolloutNow})
			continue
		}
		open = min(open, ring)
	}
	if w.isPaused() {
		return chosen.leftOut()
	}
	chosen.holdFor(broken, waiting, isStuck)
	budget := w.budgetFor(min(takers, max(len(w.line), chosen.Waiting+chosen.RollingOut+chosen.Overdue)))
	waiting, first, areOthers := inTurn(waiting, taken, isStuck)
	open = min(open, first)
	overdue := placesOf(chosen.Overdue, len(isStuck), areOthers, budget)
	chosen.passed = w.passed(open, ready, chosen.begun[open])
	if !w.mayBegin(open, ready, chosen.passed, now) {
		open = -1 // no ring
	}
	chosen.admit(waiting, open, budget-overdue)
	if overdue >= budget {
		chosen.Held, chosen.Waiting = chosen.Waiting, 0
	}
	return chosen
}

// leftOut returns the choice if no Collector may begin.
func (c choice) leftOut() choice {
	c.LeftOut, c.Waiting = c.LeftOut+c.Waiting, 0
	return c
}

// holdFor counts broken Collectors of lower rings than others that wait as overdue.
func (c *choice) holdFor(broken, waiting []candidate, isStuck map[string]bool) {
	for _, one := range broken {
		if slices.ContainsFunc(waiting, func(next candidate) bool { return one.ring < next.ring }) {
			c.Overdue, c.overdue = c.Overdue+1, append(c.overdue, one.collector)
			isStuck[one.collector.GetNamespace()] = true
		}
	}
}

// goOn counts a Collector of a ring that is on its way. isBegun tells that the turn of the ring has come.
func (c *choice) goOn(ring int, isBegun bool) {
	c.RollingOut++
	c.busy[ring], c.begun[ring] = true, c.begun[ring] || isBegun
}

// admit has candidates begin in their order: those whose ring is open, while there are places, and those that do not wait for that.
func (c *choice) admit(waiting []candidate, open, places int) {
	for _, next := range waiting {
		if next.isNow || next.ring <= open && c.RollingOut < places {
			c.busy[next.ring] = true
			c.admitted = append(c.admitted, next.collector)
			c.Waiting--
			c.RollingOut++
		}
	}
}

// placesOf returns how many places of a budget overdue Collectors of some namespaces take. If they are of one namespace, one is for others.
func placesOf(overdue, namespaces int, areOthers bool, budget int) int {
	if areOthers && namespaces == 1 {
		return min(overdue, max(1, budget-1))
	}
	return overdue
}

// budgetFor returns how many may be on their way of so many Collectors that a change concerns.
func (w *Waves) budgetFor(concerned int) int {
	budget, _ := intstr.GetScaledValueFromIntOrPercent(&w.Budget, concerned, false)
	return max(1, w.Least, budget) // the error is about a flag that the operator has checked
}

// deadlineOf returns how long a Collector may take to become ready with the operator's change. It is ProofTime more with a canary.
func (w *Waves) deadlineOf(collector *unstructured.Unstructured) time.Duration {
	if _, isAsked, _ := unstructured.NestedFieldNoCopy(collector.Object, "spec", "canary"); isAsked || w.Canary {
		return w.Deadline + ProofTime
	}
	return w.Deadline
}

func isInstalled(collector *unstructured.Unstructured) bool {
	_, is, _ := unstructured.NestedFieldNoCopy(collector.Object, "status", "deployedRelease")
	return is
}

// isLate tells whether others wait no longer for a Collector that was not reconciled with a change.
func (w *Waves) isLate(collector *unstructured.Unstructured, at place, now time.Time) bool {
	since := at.expected
	if since.IsZero() {
		since = w.began
	}
	return now.Sub(since) > w.Deadline && now.Sub(collector.GetCreationTimestamp().Time) > w.Deadline
}

// inTurn sorts those who may be admitted by their turn, and returns their lowest ring. taken says how many places a namespace has,
// and isStuck whether one of these is overdue. areOthers tells whether Collectors of other namespaces wait.
func inTurn(waiting []candidate, taken map[string]int, isStuck map[string]bool) (inTurn []candidate, first int, areOthers bool) {
	first = LastRing
	inStuck := func(c candidate) bool { return isStuck[c.collector.GetNamespace()] }
	areOthers = slices.ContainsFunc(waiting, func(c candidate) bool { return !inStuck(c) })
	if areOthers {
		waiting = slices.DeleteFunc(waiting, func(c candidate) bool { return inStuck(c) && !c.isNow })
	}
	slices.SortFunc(waiting, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.number, b.number)) })
	for i := range waiting {
		namespace := waiting[i].collector.GetNamespace()
		waiting[i].rank, first = taken[namespace], min(first, waiting[i].ring)
		taken[namespace]++
	}
	slices.SortFunc(waiting, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
	})
	return waiting, first, areOthers
}

// onItsWaySince returns since when a Collector is on its way: by its status or, until that says so, by its place. It is zero for
// one that is not. A hold of a moment gives it no more time, and a further change of the operator does.
func onItsWaySince(collector *unstructured.Unstructured, at place) time.Time {
	since := at.admitted
	if IsOnItsWay(collector) {
		since = v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).LastTransitionTime.Time
	}
	if !since.IsZero() && !at.since.IsZero() && at.since.Before(since) {
		since = at.since
	}
	if !since.IsZero() && at.again.After(since) {
		return at.again
	}
	return since
}

// wishOf returns what the labels say: of the namespace, which the platform owns, and hold of the Collector, too.
func (w *Waves) wishOf(collector client.Object) string {
	if own := collector.GetLabels()[v1alpha1.RolloutLabel]; own == v1alpha1.RolloutHold || w.Live == nil {
		return own
	}
	return w.namespaces[collector.GetNamespace()][v1alpha1.RolloutLabel]
}

// turnOf says when the turn of a Collector comes. That stays true when the pause ends: no Collector is reconciled for that.
func (w *Waves) turnOf(at place, ring int) string {
	turn := fmt.Sprintf("ring %d, place %d", ring, at.number)
	switch {
	case w.Live != nil && w.namespaces == nil:
		turn = fmt.Sprintf("place %d", at.number)
	case ring == LastRing:
		turn = fmt.Sprintf("after all rings, place %d", at.number)
	}
	if w.Soak > 0 {
		turn += fmt.Sprintf(", %s after lower rings", w.Soak)
	}
	if w.isGated() {
		turn += ", once `kubectl collector rollout continue` lets its ring begin"
	}
	if w.isPaused() {
		turn += fmt.Sprintf(", once label %s of namespace %s no longer pauses all of them", v1alpha1.RolloutLabel, w.Namespace)
	}
	return turn
}
