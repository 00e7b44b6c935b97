package live

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// repairsAtOnce is how often in a row an object is repaired at once. Each further time doubles the time to the next.
	repairsAtOnce = 3

	// longestBackoff bounds that time, and is how long an object has to stay in order to be repaired at once again.
	longestBackoff = 5 * time.Minute
)

// State is what an object is, beside what is expected of it.
type State int

// The states of an object.
const (
	// Absent: it is not there, and nothing is expected.
	Absent State = iota

	// Unknown: it is there, and nothing is known of what has happened to it.
	Unknown

	// InOrder: it is as it was last applied.
	InOrder

	// Stale: the informer cache does not show yet what was applied.
	Stale

	// Changed: another client has changed what the operator applied, or has replaced the object.
	Changed

	// Contested: another client changes it again and again, and it waits for its next repair.
	Contested

	// Lost: it was there, and another client has deleted it.
	Lost

	// Deleting: it is being deleted, and a finalizer keeps it.
	Deleting
)

// Expectation is what the operator expects of one object: what it last wrote, or found in order.
type Expectation struct {
	UID     types.UID
	Version string // the last one that was seen in order
	Hash    string
	Digest  string
	Checked string
	Seen    bool // the informer cache has shown it
	Pending bool // it was created for a revision that is not accepted yet
	Edited  bool // another client may have changed it while no revision wanted it
	At      time.Time

	OwnsReplicas bool // of a workload, and how many pods it is to have
	Replicas     int32

	Repairs int       // in a row
	Next    time.Time // it is not repaired before
}

// Expect returns the expectation that an object stays as it is in the informer cache.
func Expect(object Object) *Expectation {
	return &Expectation{
		UID: object.UID, Version: object.Version, Hash: object.Hash, Digest: object.Digest, Checked: object.Checked, Seen: true,
		OwnsReplicas: object.OwnsReplicas, Replicas: object.Replicas,
	}
}

// ExpectAll returns the expectations that objects stay as they are in the informer cache.
func ExpectAll(found map[Reference]Object) Expectations {
	all := make(Expectations, len(found))
	for what, object := range found {
		all[what] = Expect(object)
	}
	return all
}

// Applied returns the expectation after an apply at a time. before is what was expected then, or nil. An object that was repaired
// may be repaired again later and later.
func Applied(after Object, now time.Time, before *Expectation, repaired bool) *Expectation {
	next := Expect(after)
	next.At = now
	next.Seen = before != nil && before.Seen && before.UID == after.UID && before.Version != "" // that of a lost answer is not known
	next.Pending = before != nil && before.Pending
	if repaired && before != nil && now.Sub(before.At) < longestBackoff+time.Minute {
		next.Repairs = before.Repairs + 1
	}
	if next.Repairs > repairsAtOnce {
		next.Next = now.Add(min(time.Second<<min(next.Repairs-repairsAtOnce, 10), longestBackoff))
	}
	return next
}

// Lost notes that an apply's answer was lost: the object is no longer in order, and is missed if it is not there. creates tells that the
// apply was a creation.
func (e Expectations) Lost(what Reference, creates bool) {
	if e == nil {
		return
	}
	next := &Expectation{Seen: true, Pending: creates}
	if known := e[what]; known != nil {
		next.UID, next.Pending, next.Replicas = known.UID, known.Pending, known.Replicas
	}
	e[what] = next
}

// IsContested tells whether the object was repaired so often that its next repair waits.
func (e *Expectation) IsContested() bool { return e != nil && e.Repairs > repairsAtOnce }

// state returns the state of an object, which is nil if the informer cache has none.
func (e *Expectation) state(object *Object, now time.Time) State {
	switch {
	case e == nil && object == nil:
		return Absent
	case object == nil && !e.Seen && now.Sub(e.At) < CacheDelay:
		return Stale
	case object == nil && now.Before(e.Next):
		return Contested
	case object == nil:
		return Lost
	case object.Deleting && (e == nil || object.UID == e.UID || !IsOlder(object.Version, e.Version)):
		return Deleting
	case e == nil:
		return Unknown
	case object.UID == e.UID && (object.Version == e.Version || object.Digest == e.Digest && object.Digest != ""):
		return InOrder
	case IsOlder(object.Version, e.Version) && now.Sub(e.At) < CacheDelay:
		return Stale
	case now.Before(e.Next):
		return Contested
	}
	return Changed
}

// IsOlder tells whether one resource version is older than another. Versions that cannot be compared are not.
func IsOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// Expectations are those of one Collector's objects.
type Expectations map[Reference]*Expectation

// Keep notes that an object that is no longer wanted should stay as the informer cache has it, unless something else was applied since.
func (e Expectations) Keep(what Reference, object Object) {
	next, known := Expect(object), e[what]
	if known != nil && known.UID == object.UID && IsOlder(object.Version, known.Version) {
		return
	}
	next.Pending = known != nil && known.Pending
	next.Edited = known == nil || known.Edited || known.UID != object.UID || known.Digest != object.Digest
	e[what] = next
}

// KeepRest expects what stays although it is not wanted to stay as it is now, and forgets what has gone and is not wanted.
func (e Expectations) KeepRest(found map[Reference]Object, isWanted func(Reference) bool, now time.Time) {
	for what, object := range found {
		isKnown, keeps := e[what] != nil, isWanted(what)
		if !object.Deleting && (!isKnown || !keeps) || object.Deleting && !isKnown && keeps { // it is missed when it has gone
			e.Keep(what, object)
		}
	}
	for what, expected := range e {
		isLost := expected.Seen || now.Sub(expected.At) >= CacheDelay
		if _, isThere := found[what]; !isThere && isLost && !isWanted(what) {
			delete(e, what)
		}
	}
}

// KeepRepaired expects what a repair has left to stay as it is: what is wanted is missed when it has gone, and what is not wanted is no
// drift. KeepRepaired returns the latter, which may be pruned once the revision is deployed that the Collector asks for. view is from
// before the repair.
func (e Expectations) KeepRepaired(
	view map[Reference]Seen, found map[Reference]Object, isWanted func(Reference) bool,
) (unwanted []Reference) {
	for what, seen := range view {
		object, isThere := found[what]
		isKept := seen.State != InOrder && seen.State != Deleting
		if isWanted(what) {
			isKept = seen.State == Deleting
		}
		switch {
		case seen.State == Lost && !isWanted(what):
			if known := e[what]; known != nil && known.Version == seen.Version { // and was not found since
				delete(e, what)
			}
		case isThere && isKept:
			e.Keep(what, object)
			if !isWanted(what) {
				unwanted = append(unwanted, what)
			}
		}
	}
	return unwanted
}

// Note notes which of the objects the informer cache has shown in order.
func (e Expectations) Note(seen map[Reference]Seen) {
	for what, object := range seen {
		expected := e[what]
		if expected == nil || object.State == Stale || object.State == Lost {
			continue
		}
		expected.OwnsReplicas, expected.Replicas = object.OwnsReplicas, object.Replicas // which an autoscaler sets
		if object.State == InOrder {
			expected.Seen, expected.Version, expected.Digest = true, object.Version, object.Digest
		}
	}
}
