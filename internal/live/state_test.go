package live

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTheStateOfAnObject(t *testing.T) {
	object := Object{UID: "1", Version: "10", Digest: "a"}
	changed := func(change func(*Object)) *Object {
		other := object
		change(&other)
		return &other
	}
	fresh := &Expectation{UID: "1", Version: "10", Digest: "a", At: noon}
	for name, row := range map[string]struct {
		expected *Expectation
		object   *Object
		at       time.Duration
		want     State
	}{
		"nothing is there, and nothing is expected":               {nil, nil, 0, Absent},
		"it is there, and nothing is known":                       {nil, &object, 0, Unknown},
		"it is there as it was applied":                           {fresh, &object, 0, InOrder},
		"another client has changed its own field":                {fresh, changed(func(o *Object) { o.Version = "11" }), 0, InOrder},
		"another client has changed the operator's field":         {fresh, changed(func(o *Object) { o.Version, o.Digest = "11", "b" }), 0, Changed},
		"another client has applied it in place of the operator":  {fresh, changed(func(o *Object) { o.Version, o.Digest = "11", "" }), 0, Changed},
		"another object has its name":                             {fresh, changed(func(o *Object) { o.UID, o.Version = "2", "11" }), 0, Changed},
		"the informer cache has it from before":                   {fresh, changed(func(o *Object) { o.Version, o.Digest = "9", "b" }), 0, Stale},
		"the informer cache is behind for too long":               {fresh, changed(func(o *Object) { o.Version, o.Digest = "9", "b" }), CacheDelay, Changed},
		"the informer cache does not show it yet":                 {fresh, nil, 0, Stale},
		"the informer cache does not show it for too long":        {fresh, nil, CacheDelay, Lost},
		"it was there, and has gone":                              {&Expectation{UID: "1", Seen: true, At: noon}, nil, 0, Lost},
		"it is being deleted":                                     {fresh, changed(func(o *Object) { o.Version, o.Deleting = "11", true }), 0, Deleting},
		"it is being deleted, and nothing is known":               {nil, changed(func(o *Object) { o.Deleting = true }), 0, Deleting},
		"its predecessor is being deleted in the informer cache":  {fresh, changed(func(o *Object) { o.UID, o.Version, o.Deleting = "0", "9", true }), 0, Stale},
		"it is changed again and again, and waits for its repair": {&Expectation{UID: "1", Version: "10", Digest: "a", Next: noon.Add(time.Minute)}, changed(func(o *Object) { o.Version, o.Digest = "11", "b" }), 0, Contested},
	} {
		if got := row.expected.state(row.object, noon.Add(row.at)); got != row.want {
			t.Errorf("%s: state %d, want %d", name, got, row.want)
		}
	}
}

func TestObjectsAreInOrder(t *testing.T) {
	reference := func(kind string) Reference {
		return NewReference(schema.GroupVersionKind{Version: "v1", Kind: kind}, "c")
	}
	for name, row := range map[string]struct {
		kind          string
		object        *Object
		inOrder, held bool
	}{
		"it is as it was applied":                {"Service", &Object{UID: "1", Version: "10"}, true, false},
		"another client has changed it":          {"Service", &Object{UID: "1", Version: "11"}, false, false},
		"another client has deleted it":          {"Service", nil, false, false},
		"a finalizer holds it":                   {"Service", &Object{UID: "1", Version: "11", Deleting: true}, false, true},
		"a check is on its way":                  {"Job", &Object{UID: "1", Version: "11"}, true, false},
		"a check has gone that is not asked for": {"Job", nil, true, false},
	} {
		what, found := reference(row.kind), map[Reference]Object{}
		if row.object != nil {
			found[what] = *row.object
		}
		expected := Expectations{what: {UID: "1", Version: "10", Seen: true, At: noon}}
		if inOrder, held := expected.AreInOrder(found, nil, noon); inOrder != row.inOrder || held != row.held {
			t.Errorf("%s: in order %t, held %t", name, inOrder, held)
		}
	}
}

func TestAnObjectThatIsChangedAgainAndAgainIsRepairedLessAndLessOften(t *testing.T) {
	now, after := noon, Object{UID: "1", Version: "10", Digest: "a"}
	expected := Applied(after, now, nil, false)
	var waits []time.Duration
	for range 14 {
		expected = Applied(after, now, expected, true)
		wait := max(0, expected.Next.Sub(now))
		waits, now = append(waits, wait), now.Add(wait+time.Second)
	}
	for i, want := range []time.Duration{0, 0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300} {
		if waits[i] != want*time.Second {
			t.Errorf("repair %d: waits %s, want %d s", i+1, waits[i], want)
		}
	}
	if !expected.IsContested() {
		t.Error("it is not contested")
	}
	if calm := Applied(after, now.Add(longestBackoff+time.Minute), expected, true); calm.IsContested() {
		t.Error("calm for long, and still contested")
	}
	if changed := Applied(after, now, expected, false); changed.IsContested() {
		t.Error("another revision leaves it contested")
	}
}

func TestWhatIsExpectedIsSeenWhereTheInformerCacheIsBehind(t *testing.T) {
	what := NewReference(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "c")
	expected := Expectations{what: {UID: "2", Version: "12", Hash: "new", Digest: "b", At: noon}}
	seen := expected.See(map[Reference]Object{what: {UID: "1", Version: "10", Hash: "old", Digest: "a"}}, noon)[what]
	if seen.State != Stale || seen.Hash != "new" || seen.UID != "2" {
		t.Errorf("seen %+v", seen)
	}
	view := expected.See(map[Reference]Object{what: {UID: "2", Version: "13", Hash: "new", Digest: "b"}}, noon)
	expected.Note(view)
	if !expected[what].Seen || expected[what].Version != "13" {
		t.Errorf("noted %+v", expected[what])
	}
	if lost := expected.See(nil, noon)[what]; lost.State != Lost || lost.UID != "2" {
		t.Errorf("seen %+v", lost)
	}
	if what.String() != `Service "c"` || what.Use() != "Service/c" || what.Name() != "c" {
		t.Errorf("%s, %s", what, what.Use())
	}
}

func TestWhatWasLostComesBackWithAsManyPods(t *testing.T) {
	what := NewReference(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "c")
	expected := Expectations{what: {UID: "1", Version: "10", Seen: true, Replicas: 10}}
	expected.Lost(what, true)
	if seen := expected.See(nil, noon)[what]; seen.State != Lost || seen.Replicas != 10 {
		t.Errorf("state %d with %d pods, want %d with 10", seen.State, seen.Replicas, Lost)
	}
}

func TestWhatARepairHasLookedForIsExpectedOnlyIfItWasFound(t *testing.T) {
	what := NewReference(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "c")
	isWanted := func(Reference) bool { return false }
	for name, row := range map[string]struct {
		version string // what is expected after the repair
		stays   bool
	}{
		"it has gone":           {"10", false},
		"it had lost its label": {"11", true},
	} {
		expected := Expectations{what: {UID: "1", Version: "10", Seen: true}}
		view := expected.See(nil, noon)
		expected[what] = &Expectation{UID: "1", Version: row.version, At: noon}
		expected.KeepRepaired(view, nil, isWanted)
		if got := expected[what] != nil; got != row.stays {
			t.Errorf("%s: it is expected: %t", name, got)
		}
	}
}
