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
	standstill = 5 * time.Second
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

	// Now tells the time; nil is for time.Now.
	Now func() time.Time

	// Count is told how many Collectors are in each state.
	Count func(Counts)

	mutex      sync.Mutex
	places     map[client.ObjectKey]int // where Collectors wait in their rings, from 1; 0 for those that have nothing to wait for
	lines      map[int]int              // by ring, how many Collectors have begun to wait
	namespaces map[string]string        // those with the label, and its value
	due        *time.Time               // when to look at the fleet again; nil while there is nothing to see
	held       bool
}

// admitted is in the place of a Collector whose status does not say yet that it is on its way.
const admitted = -1

// Counts are numbers of Collectors.
type Counts struct{ Waiting, Held, LeftOut, RollingOut, Overdue int }

// Ask returns nil if a Collector, as the informer cache has it, may take the operator's change now, or else the condition that
// its status is to have. A Collector that is admitted may when its status says so.
func (w *Waves) Ask(collector *unstructured.Unstructured) *v1alpha1.Condition {
	if v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason == v1alpha1.ReasonRollingOut {
		return nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	key, ring := client.ObjectKeyFromObject(collector), ringOf(collector)
	if w.places[key] == 0 {
		w.lines[ring]++
		w.places[key], w.due = w.lines[ring], &time.Time{}
	}
	pending := &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonWaiting}
	switch {
	case w.places[key] == admitted:
		pending.Status, pending.Reason = corev1.ConditionFalse, v1alpha1.ReasonRollingOut
		pending.Message = "the operator's change is on its way to the pods"
	case w.wish(collector) == v1alpha1.RolloutHold:
		pending.Reason, pending.Message = v1alpha1.ReasonLeftOut, "label "+v1alpha1.RolloutLabel+" holds the operator's change back"
	case ring == lastRing:
		pending.Message = fmt.Sprintf("the operator's change waits: after all rings, place %d", w.places[key])
	default:
		pending.Message = fmt.Sprintf("the operator's change waits: ring %d, place %d", ring, w.places[key])
	}
	return pending
}

// Settle notes that a Collector has nothing to wait for.
func (w *Waves) Settle(collector client.Object) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.places[client.ObjectKeyFromObject(collector)] = 0
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
	w.places, w.lines, w.due = map[client.ObjectKey]int{}, map[int]int{}, &time.Time{}
}

// Start admits Collectors, until ctx ends.
func (w *Waves) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, w.Admit, interval)
	return nil
}

func (w *Waves) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

// Admit admits those whose turn it is. Start calls it.
func (w *Waves) Admit(ctx context.Context) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.due == nil || w.now().Before(*w.due) {
		return
	}
	fleet, err := w.Fleet(ctx)
	if err := errors.Join(err, w.readNamespaces(ctx)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot see which Collectors may take the operator's change")
		return
	}
	budget, _ := intstr.GetScaledValueFromIntOrPercent(&w.Budget, len(fleet), false)
	budget = max(1, budget) // the error is about a flag that the operator has checked
	seen := w.look(fleet)
	for _, next := range seen.waiting {
		if next.isNow || next.ring <= seen.open && seen.RollingOut+seen.Overdue < budget {
			w.places[client.ObjectKeyFromObject(next.collector)] = admitted
			seen.Waiting--
			seen.RollingOut++
			w.Requeue(next.collector)
		}
	}
	w.hold(seen, budget)
	w.Count(seen.Counts)
	switch {
	case seen.Counts == Counts{}:
		w.due = nil
	case seen.Waiting+seen.RollingOut == 0:
		w.due = new(w.now().Add(standstill))
	}
}

// view is what a look at the fleet shows.
type view struct {
	Counts
	waiting []waiting // in the order of their turns
	overdue []*unstructured.Unstructured
	open    int // the ring whose turn it is; the next one is when all of it are ready or overdue
}

type waiting struct {
	collector   *unstructured.Unstructured
	ring, place int
	isNow       bool
}

func (w *Waves) look(fleet []unstructured.Unstructured) *view {
	seen := &view{open: lastRing}
	for i := range fleet {
		collector := &fleet[i]
		place, isKnown := w.places[client.ObjectKeyFromObject(collector)]
		pending, wish, ring := v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending), w.wish(collector), ringOf(collector)
		isOnItsWay := pending.Reason == v1alpha1.ReasonRollingOut
		switch {
		case collector.GetDeletionTimestamp() != nil || collector.GetAnnotations()[v1alpha1.PausedAnnotation] == "true":
			continue
		case isOnItsWay && w.now().Sub(pending.LastTransitionTime.Time) > w.Deadline:
			seen.Overdue++
			seen.overdue = append(seen.overdue, collector)
			continue
		case isOnItsWay || place == admitted:
			seen.RollingOut++
		case !isKnown:
		case place == 0:
			continue
		case wish == v1alpha1.RolloutHold:
			seen.LeftOut++
			continue
		default:
			seen.Waiting++
			seen.waiting = append(seen.waiting, waiting{collector, ring, place, wish == v1alpha1.RolloutNow})
		}
		seen.open = min(seen.open, ring)
	}
	slices.SortFunc(seen.waiting, func(a, b waiting) int { return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.place, b.place)) })
	return seen
}

// hold tells, once, that a wave holds: all of the budget is taken by Collectors that are overdue.
func (w *Waves) hold(seen *view, budget int) {
	wasHeld := w.held
	if w.held = seen.Waiting > 0 && seen.Overdue >= budget; !w.held {
		return
	}
	seen.Held, seen.Waiting = seen.Waiting, 0
	for _, collector := range seen.overdue {
		if !wasHeld {
			w.Events.Eventf(collector, corev1.EventTypeWarning, "RolloutHeld",
				"not ready %s after the operator's change; with %d such Collectors the change goes no further, and %d wait",
				w.Deadline, seen.Overdue, seen.Held)
		}
	}
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
	found := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	if err := w.Live.List(ctx, found, client.HasLabels{v1alpha1.RolloutLabel}); err != nil {
		return fmt.Errorf("list namespaces with the label %s: %w", v1alpha1.RolloutLabel, err)
	}
	w.namespaces = map[string]string{}
	for _, namespace := range found.Items {
		w.namespaces[namespace.Name] = namespace.Labels[v1alpha1.RolloutLabel]
	}
	return nil
}

// ringOf returns the ring of a Collector. A label that is not a number counts as no label.
func ringOf(collector client.Object) int {
	ring, err := strconv.ParseUint(collector.GetLabels()[v1alpha1.RingLabel], 10, 31)
	if err != nil {
		return lastRing
	}
	return int(ring)
}
