// Package rollout lets changes that the operator brings reach the fleet in waves.
//
// A change is the owner's (of the spec, or of what it refers to), or it is the operator's: a new chart, a new default, an API
// that appears. The action client deploys an owner's change at once, and asks here before it deploys one of the operator's.
// A Collector's status says that it is on its way before anything is applied. So an operator that was killed, or another one that
// leads now, goes on where it was, and the budget holds.
package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// interval is the time between two looks at the fleet while a change is on its way.
	interval = time.Second

	// idleInterval is that time while no Collector can be admitted: the change is held, or left out. It is also for how long the labels of
	// namespaces are believed.
	idleInterval = 5 * time.Second
)

// DefaultBudget is the budget of an operator that is given none. It then lets DefaultLeast Collectors go in any case, so that one that
// does not become ready keeps the change from no other one.
var DefaultBudget = intstr.FromString("5%")

// DefaultLeast is how many Collectors DefaultBudget lets go in any case.
const DefaultLeast = 2

// Waves decides which Collectors may take a change that the operator brings.
type Waves struct {
	// Budget is how many Collectors may be on their way at once: a number, or a percentage of those that the change concerns.
	Budget intstr.IntOrString

	// Least is how many may be in any case. One always may.
	Least int

	// Deadline is how long a Collector may take to become ready. Then it is overdue, or as soon as canary pods have failed. It is also how
	// long others wait for one that the operator does not get to reconcile.
	Deadline time.Duration

	// Canary tells that changes prove themselves also on Collectors without spec.canary.
	Canary bool

	// Soak is how long lower rings must have been done before a ring begins.
	Soak time.Duration

	// Fleet returns the operator's Collectors as the informer cache has them. They must not be changed.
	Fleet func(context.Context) ([]unstructured.Unstructured, error)

	// Requeue has a Collector reconciled.
	Requeue func(client.Object)

	// Live reads namespaces from the API server. It is nil for an operator that is for some namespaces only, and may not. That one goes
	// by the labels of Collectors.
	Live client.Reader

	// Namespace is the operator's. RolloutHold as its label pauses all changes that the operator brings, and RolloutGate has each ring wait.
	Namespace string

	// Events takes the event RolloutHeld.
	Events record.EventRecorder

	// Now tells the time.
	Now func() time.Time

	// Count gets how many Collectors are in each state.
	Count func(Counts)

	mutex      sync.Mutex                   // each reconcile needs it, so it is not held while the API server is asked
	places     map[client.ObjectKey]place   // of those that were reconciled since the change began
	last       int                          // the number of the last place
	line       sets.Set[client.ObjectKey]   // of Collectors that have begun to wait, since none waited
	lined      time.Time                    // when the first of them began
	namespaces map[string]map[string]string // labels and ContinuedAnnotation of those with RingLabel or RolloutLabel; nil until they are read
	ends       map[int]time.Time            // when Collectors of a ring were last on their way, since the operator started; zero if before
	read       time.Time                    // when they were
	began      time.Time                    // when the operator began to bring the change
	due        *time.Time                   // when to look at the fleet again; nil while there is nothing to see
	held       bool
}

// Counts are numbers of Collectors.
type Counts struct{ Waiting, Held, LeftOut, RollingOut, Overdue int }

// Ask returns nil if a Collector, as the informer cache has it, may take the operator's change now, or else the condition that
// its status is to have. A Collector that is admitted may when its status says so.
func (w *Waves) Ask(collector *unstructured.Unstructured) *v1alpha1.Condition {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.wake()
	if IsOnItsWay(collector) && w.wishOf(collector) != v1alpha1.RolloutHold {
		return nil
	}
	key, ring := client.ObjectKeyFromObject(collector), w.ringOf(collector)
	if at := w.places[key]; at.number == 0 && at.admitted.IsZero() {
		w.queue(key, onItsWaySince(collector, at))
	}
	at := w.places[key]
	pending := &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonWaiting}
	switch {
	case w.wishOf(collector) == v1alpha1.RolloutHold:
		at.since, at.admitted = cmp.Or(onItsWaySince(collector, at), at.since), time.Time{} // its turn comes again
		w.places[key] = at
		pending.Reason, pending.Message = v1alpha1.ReasonLeftOut, "label "+v1alpha1.RolloutLabel+" holds the operator's change back"
	case !at.admitted.IsZero():
		return RollingOut()
	default:
		pending.Message = "the operator's change waits: " + w.turnOf(at, ring)
	}
	return pending
}

// wake has the fleet looked at, if there was nothing to see: the only Collector that is on its way, or waits, may have been paused.
func (w *Waves) wake() {
	if w.due == nil {
		w.due = &time.Time{}
	}
}

// queue gives a Collector the last place. It is held on its way since a moment, or that is zero. A line counts each Collector once, however
// often it begins to wait.
func (w *Waves) queue(collector client.ObjectKey, since time.Time) {
	w.last++
	if len(w.line) == 0 {
		w.lined = w.Now()
	}
	w.line.Insert(collector)
	w.places[collector], w.due = place{number: w.last, since: since}, &time.Time{}
}

// isPaused tells whether no Collector is admitted.
func (w *Waves) isPaused() bool {
	return w.namespaces[w.Namespace][v1alpha1.RolloutLabel] == v1alpha1.RolloutHold
}

// Done notes that a Collector has nothing to wait for, by a reconcile that began at a moment. That may have been before a change. A
// reconcile that failed before it saw the change leaves the Collector, and its turn, to another one.
func (w *Waves) Done(collector *unstructured.Unstructured, began time.Time, isSeen bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key := client.ObjectKeyFromObject(collector)
	at, isKnown := w.places[key]
	hasNotSeen := !isKnown || !at.expected.IsZero() || at.number > 0
	if at.changed.After(began) || hasNotSeen && !isSeen {
		return
	}
	done := place{}
	if IsOnItsWay(collector) {
		done.since, done.again = at.since, at.again
		w.wake()
	}
	w.places[key] = done
}

// Forget notes that a Collector has gone.
func (w *Waves) Forget(collector client.ObjectKey) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.places, collector)
}

// Reset notes that the operator brings another change: which Collectors it concerns is known when they are reconciled.
func (w *Waves) Reset() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.places, w.ends = map[client.ObjectKey]place{}, map[int]time.Time{}
	w.startLine()
	w.began, w.due = w.Now(), &time.Time{}
}

// startLine begins to count anew whom a change concerns.
func (w *Waves) startLine() { w.line, w.last = sets.New[client.ObjectKey](), 0 }

// Expect notes that the operator brings another change to some Collectors, which are reconciled soon. A lower ring waits for that, as long
// as a Collector may take to become ready. Collectors that wait already, or were just admitted, keep their places.
func (w *Waves) Expect(collectors []*unstructured.Unstructured) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, collector := range collectors {
		key := client.ObjectKeyFromObject(collector)
		if at := w.places[key]; at.number == 0 && at.admitted.IsZero() {
			at.changed = w.Now()
			if at.expected.IsZero() {
				at.expected = at.changed
			}
			if IsOnItsWay(collector) {
				at.again = at.changed
			}
			w.places[key], w.due = at, &time.Time{}
		}
	}
	w.read = time.Time{} // a change that comes after a pause must not pass it
}

// Start admits Collectors, until ctx ends. Until then another operator may have led, and no Collector could be reconciled here.
func (w *Waves) Start(ctx context.Context) error {
	w.mutex.Lock()
	w.began = w.Now()
	w.mutex.Unlock()
	wait.UntilWithContext(ctx, w.Look, interval)
	return nil
}

// Look looks at the fleet, if it is time, and admits those whose turn it is. Start calls it.
func (w *Waves) Look(ctx context.Context) {
	isDue, namespaces := w.isDue()
	if !isDue {
		return
	}
	var err error
	if namespaces == nil {
		namespaces, err = w.labelledNamespaces(ctx)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	collectors, cacheErr := w.Fleet(ctx) // with the lock, so that no Collector that is on its way is missed between its status and its place
	if err := errors.Join(err, cacheErr); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot see which Collectors may take the operator's change")
		return
	}
	now := w.Now()
	w.namespaces = namespaces
	chosen := w.choose(collectors, now)
	for _, collector := range chosen.admitted {
		key := client.ObjectKeyFromObject(collector)
		at := w.places[key]
		at.admitted = now
		w.places[key] = at
		w.Requeue(collector)
	}
	for ring := range chosen.busy {
		w.ends[ring] = now
	}
	for _, ring := range chosen.passed {
		w.ends[ring] = time.Time{}
	}
	w.tellHeld(chosen)
	w.Count(chosen.Counts)
	if chosen.Waiting+chosen.Held+chosen.RollingOut == 0 && !w.isPaused() {
		w.startLine() // the next change concerns others; those that are left out or overdue may be so for ever
	}
	switch {
	case chosen.Counts == Counts{}:
		w.due = nil
	case chosen.Waiting+chosen.RollingOut == 0:
		w.due = new(now.Add(idleInterval))
	}
}

// isDue tells whether it is time to look at the fleet, and returns the labels of namespaces unless they must be read again.
func (w *Waves) isDue() (bool, map[string]map[string]string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := w.Now()
	switch {
	case w.due == nil || now.Before(*w.due):
		return false, nil
	case w.namespaces == nil || !now.Before(w.read.Add(idleInterval)):
		w.read = now
		return true, nil
	}
	return true, w.namespaces
}

// tellHeld tells, once, that a wave holds: all of the budget is taken by Collectors that are overdue.
func (w *Waves) tellHeld(chosen choice) {
	wasHeld := w.held
	if w.held = chosen.Held > 0; !w.held || wasHeld {
		return
	}
	for _, collector := range chosen.overdue {
		cause := fmt.Sprintf("not ready %s after the operator's change", w.deadlineOf(collector))
		switch {
		case v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason == v1alpha1.ReasonRefused:
			cause = "the operator's change is refused"
		case hasFailed(collector):
			cause = "canary pods have failed to prove the operator's change"
		case onItsWaySince(collector, w.places[client.ObjectKeyFromObject(collector)]).IsZero():
			cause = "pods have stopped serving since the operator's change"
		}
		w.Events.Eventf(collector, corev1.EventTypeWarning, "RolloutHeld",
			"%s; with %d overdue Collectors the change goes no further, and %d wait", cause, chosen.Overdue, chosen.Held)
	}
}
