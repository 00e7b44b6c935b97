package live

import (
	"time"
)

// Seen is one object of a Collector.
type Seen struct {
	Object
	State State
	Next  time.Time // a contested object is not repaired before
	Held  bool      // it was repaired so often that its next repair waits

	// Pending tells that it was created for a revision that is not accepted yet.
	Pending bool
}

// IsThere tells whether the object is there to stay, or may be.
func (s *Seen) IsThere() bool { return s.State != Absent && s.State != Lost && s.State != Deleting }

// View is what a Collector has. It is not changed.
type View struct {
	// Objects are those that the Collector controls, those that the informer cache does not show yet, and those that are lost.
	Objects map[Reference]Seen

	// Used is what the Collector's pods, and the pods that its workloads may start, use.
	Used Used

	// Orphans is how many of the Collector's pods nothing controls: an operator was killed before it created their StatefulSet again.
	Orphans int32

	// Pods are those that have names as a StatefulSet gives them, by their ordinals.
	Pods []Pod
}

// See returns what a Collector has: found is what the informer cache has.
func (e Expectations) See(found map[Reference]Object, now time.Time) map[Reference]Seen {
	all := make(map[Reference]Seen, len(found))
	for what, object := range found {
		all[what] = e[what].see(&object, now)
	}
	for what, expected := range e {
		if _, isThere := found[what]; !isThere {
			all[what] = expected.see(nil, now)
		}
	}
	return all
}

// see returns an object beside what is expected of it. The object is nil if the informer cache has none.
func (e *Expectation) see(object *Object, now time.Time) Seen {
	seen := Seen{State: e.state(object, now), Held: e.IsContested()}
	if object != nil {
		seen.Object = *object
	}
	if e == nil {
		return seen
	}
	seen.Next, seen.Pending = e.Next, e.Pending
	isOlder := object != nil && !e.Edited && IsOlder(object.Version, e.Version) // for however long
	switch {
	case object == nil || seen.State == Stale || isOlder && object.UID == e.UID:
		seen.Hash, seen.UID, seen.Checked, seen.OwnsReplicas, seen.Replicas = e.Hash, e.UID, e.Checked, e.OwnsReplicas, e.Replicas
	case isOlder: // all else is of its predecessor
		seen.Hash = e.Hash
	case e.Edited:
		seen.Hash = ""
	case seen.State == InOrder:
		seen.Hash = e.Hash // a webhook may have taken it away
	}
	if object == nil {
		seen.Version, seen.Digest = e.Version, e.Digest
	}
	return seen
}

// AreInOrder tells whether all objects are in order, or all but those that a finalizer holds. Objects that wait to be pruned do not count.
func (e Expectations) AreInOrder(
	found map[Reference]Object, toPrune map[Reference]bool, now time.Time,
) (areInOrder, areHeld bool) {
	for what, seen := range e.See(found, now) {
		switch {
		case seen.State == InOrder, toPrune[what]:
		case what.Kind().Kind == "Job" && seen.State != Stale && seen.State != Deleting: // a check ends, and goes with its change
		case seen.State == Deleting:
			areHeld = true
		default:
			return false, false
		}
	}
	return !areHeld, areHeld
}
