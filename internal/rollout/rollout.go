// Package rollout lets changes that the operator brings reach the fleet in waves.
//
// A change is the owner's (of the spec, or of what it refers to), or it is the operator's: a new chart, a new default, an API
// that appears. The action client deploys an owner's change at once, and asks here before it deploys one of the operator's.
// Which Collectors are on their way is in their statuses, and it is there before anything is applied: so an operator that was
// killed, or another one that leads now, goes on where it was, and the budget holds.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// interval is the time between two looks at the fleet while a change is on its way.
	interval = time.Second

	// standstill is that time while nobody can be admitted: the change is held, or left out.
	standstill = 15 * time.Second
)

// lastRing is that of Collectors without the label.
const lastRing = math.MaxInt

// Waves decides which Collectors may take a change that the operator brings.
type Waves struct {
	// Budget is how many Collectors may be on their way at once: a number, or a percentage of the fleet. One always may.
	Budget intstr.IntOrString

	// Deadline is how long a Collector may take to become ready. Then it is overdue.
	Deadline time.Duration

	// Fleet returns the operator's Collectors as the informer cache has them. They must not be changed.
	Fleet func(context.Context) ([]unstructured.Unstructured, error)

	// Requeue has a Collector reconciled.
	Requeue func(client.Object)

	// Live reads namespaces from the API server. It is nil for an operator that is for some namespaces only, and may not.
	Live client.Reader

	// Events takes the event RolloutHeld.
	Events record.EventRecorder

	// Count is told how many Collectors are in each state.
	Count func(Counts)

	mutex      sync.Mutex
	turns      map[client.ObjectKey]turn // of the Collectors that were reconciled since the start or the last Reset
	lines      map[int]int               // by ring, how many Collectors have begun to wait
	namespaces map[string]string         // those with the label, and its value
	due        *time.Time                // when to look at the fleet again; nil while there is nothing to see
	held       bool
}

// turn is that of one Collector. The zero value says that it has nothing to wait for.
type turn struct {
	ring, place int  // in which it waits; places begin with 1
	admitted    bool // its status is yet to say that it is on its way
}

// Counts are numbers of Collectors.
type Counts struct{ Waiting, Held, LeftOut, RollingOut, Overdue int }

// Ask returns nil if a Collector, as the informer cache has it, may take the operator's change now, or else the condition that
// its status is to have. A Collector that is admitted may when its status says so.
func (w *Waves) Ask(collector *unstructured.Unstructured) *v1alpha1.Condition {
	if _, isOnItsWay := onItsWay(collector); isOnItsWay {
		return nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key := client.ObjectKeyFromObject(collector)
	mine, ring := w.turns[key], ringOf(collector)
	isNew := mine.place == 0 || mine.ring != ring
	if isNew || w.wish(collector) == v1alpha1.RolloutNow {
		w.due = &time.Time{}
	}
	if isNew {
		w.lines[ring]++
		mine = turn{ring: ring, place: w.lines[ring]}
		w.turns[key] = mine
	}
	pending := &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonWaiting}
	switch {
	case mine.admitted:
		pending.Status, pending.Reason = corev1.ConditionFalse, v1alpha1.ReasonRollingOut
		pending.Message = "the operator's change is on its way to the pods"
	case w.wish(collector) == v1alpha1.RolloutHold:
		pending.Reason, pending.Message = v1alpha1.ReasonLeftOut, "label "+v1alpha1.RolloutLabel+" holds the operator's change back"
	case ring == lastRing:
		pending.Message = fmt.Sprintf("the operator's change waits: after all rings, place %d", mine.place)
	default:
		pending.Message = fmt.Sprintf("the operator's change waits: ring %d, place %d", ring, mine.place)
	}
	return pending
}

// Settle notes that a Collector has nothing to wait for.
func (w *Waves) Settle(collector client.Object) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.turns[client.ObjectKeyFromObject(collector)] = turn{}
}

// Forget notes that a Collector has gone.
func (w *Waves) Forget(collector client.ObjectKey) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.turns, collector)
}

// Reset notes that the operator brings another change: which Collectors it concerns is known when they are reconciled.
func (w *Waves) Reset() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.turns, w.lines, w.due = map[client.ObjectKey]turn{}, map[int]int{}, &time.Time{}
}

// Start admits Collectors, until ctx ends.
func (w *Waves) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := w.admit(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot see which Collectors may take the operator's change")
		}
	}, interval)
	return nil
}

// admit admits those whose turn it is.
func (w *Waves) admit(ctx context.Context) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.due == nil || time.Now().Before(*w.due) {
		return nil
	}
	fleet, err := w.Fleet(ctx)
	if err != nil {
		return err
	}
	if err := w.readNamespaces(ctx); err != nil {
		return err
	}
	budget, err := intstr.GetScaledValueFromIntOrPercent(&w.Budget, len(fleet), false)
	if err != nil {
		return fmt.Errorf("read --rollout-budget: %w", err)
	}
	next := w.look(fleet)
	for _, collector := range next.waiting {
		key := client.ObjectKeyFromObject(collector)
		mine := w.turns[key]
		isNow := w.wish(collector) == v1alpha1.RolloutNow
		if isNow || mine.ring <= next.open && next.RollingOut+next.Overdue < max(1, budget) {
			mine.admitted = true
			w.turns[key] = mine
			next.Waiting--
			next.RollingOut++
			w.Requeue(collector)
		}
	}
	w.hold(next, max(1, budget))
	w.Count(next.Counts)
	switch next.Counts {
	case Counts{}:
		w.due = nil
	case Counts{Held: next.Held, LeftOut: next.LeftOut, Overdue: next.Overdue}:
		w.due = new(time.Now().Add(standstill))
	}
	return nil
}

// view is what a look at the fleet shows.
type view struct {
	Counts
	waiting []*unstructured.Unstructured // in the order of their turns
	overdue []*unstructured.Unstructured
	open    int // the ring whose turn it is; the next one is when all of it are ready or overdue
}

func (w *Waves) look(fleet []unstructured.Unstructured) *view {
	seen := &view{open: lastRing}
	for i := range fleet {
		collector := &fleet[i]
		mine, isKnown := w.turns[client.ObjectKeyFromObject(collector)]
		since, isOnItsWay := onItsWay(collector)
		switch {
		case collector.GetDeletionTimestamp() != nil || collector.GetAnnotations()[v1alpha1.PausedAnnotation] == "true":
			continue
		case isOnItsWay && time.Since(since) > w.Deadline:
			seen.Overdue++
			seen.overdue = append(seen.overdue, collector)
			continue
		case isOnItsWay || mine.admitted:
			seen.RollingOut++
		case !isKnown:
		case mine.place == 0:
			continue
		case w.wish(collector) == v1alpha1.RolloutHold:
			seen.LeftOut++
			continue
		default:
			seen.Waiting++
			seen.waiting = append(seen.waiting, collector)
		}
		seen.open = min(seen.open, ringOf(collector))
	}
	slices.SortFunc(seen.waiting, func(a, b *unstructured.Unstructured) int {
		first, second := w.turns[client.ObjectKeyFromObject(a)], w.turns[client.ObjectKeyFromObject(b)]
		return cmp.Or(cmp.Compare(first.ring, second.ring), cmp.Compare(first.place, second.place))
	})
	return seen
}

// hold tells, once, that a wave holds: all of the budget is taken by Collectors that are overdue.
func (w *Waves) hold(seen *view, budget int) {
	held := seen.Waiting > 0 && seen.Overdue >= budget
	if held {
		seen.Held, seen.Waiting = seen.Waiting, 0
	}
	if held && !w.held {
		for _, collector := range seen.overdue {
			w.Events.Eventf(collector, corev1.EventTypeWarning, "RolloutHeld",
				"not ready %s after the operator's change; with %d such Collectors the change goes no further, and %d wait",
				w.Deadline, seen.Overdue, seen.Held)
		}
	}
	w.held = held
}

// wish returns what the label of a Collector, or else of its namespace, says.
func (w *Waves) wish(collector client.Object) string {
	return cmp.Or(collector.GetLabels()[v1alpha1.RolloutLabel], w.namespaces[collector.GetNamespace()])
}

// readNamespaces reads the labels of namespaces.
func (w *Waves) readNamespaces(ctx context.Context) error {
	if w.Live == nil {
		return nil
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := w.Live.List(ctx, found, client.HasLabels{v1alpha1.RolloutLabel}); err != nil {
		return fmt.Errorf("list namespaces with the label %s: %w", v1alpha1.RolloutLabel, err)
	}
	w.namespaces = map[string]string{}
	for _, namespace := range found.Items {
		w.namespaces[namespace.Name] = namespace.Labels[v1alpha1.RolloutLabel]
	}
	return nil
}

// ringOf returns the ring of a Collector. What is no number is taken for none.
func ringOf(collector client.Object) int {
	ring, err := strconv.ParseUint(collector.GetLabels()[v1alpha1.RingLabel], 10, 31)
	if err != nil {
		return lastRing
	}
	return int(ring)
}

// onItsWay tells whether a Collector's status says that the operator's change is on its way to its pods, and since when. It
// copies nothing, because it is asked for each Collector of the fleet.
func onItsWay(collector *unstructured.Unstructured) (since time.Time, is bool) {
	status, _ := collector.Object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == v1alpha1.UpdatePending && condition["reason"] == v1alpha1.ReasonRollingOut {
			text, _ := condition["lastTransitionTime"].(string)
			since, err := time.Parse(time.RFC3339, text)
			return since, err == nil
		}
	}
	return time.Time{}, false
}
