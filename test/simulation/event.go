package simulation

import (
	"fmt"
	"strings"
)

// Action is what happens in an event.
type Action string

// The actions. A target is a kind of object.
const (
	// Edit gives a field of the spec another value.
	Edit Action = "edit the spec"

	// Mark gives the Collector a label or an annotation: paused, ring, rollout, or note, which is nothing to the operator.
	Mark Action = "mark the Collector"

	// DeleteCollector deletes the Collector, and CreateCollector creates one under its name.
	DeleteCollector Action = "delete the Collector"
	CreateCollector Action = "create a Collector"

	// Delete deletes an object of the Collector.
	Delete Action = "delete an object"

	// EditApplied changes a field that the operator has applied, and EditOther one that it has not.
	EditApplied Action = "edit an applied field"
	EditOther   Action = "edit another field"

	// Hold adds a finalizer to an object, and Release removes it.
	Hold    Action = "add a finalizer"
	Release Action = "remove the finalizer"

	// Scale has an autoscaler, or a person, set the number of pods to N.
	Scale Action = "scale"

	// Occupy creates an object without owner with the name of one that the Collector may need, and Vacate deletes it.
	Occupy Action = "occupy a name"
	Vacate Action = "vacate the name"

	// Recreate replaces an object by one of the same name and owner, that the operator has not applied.
	Recreate Action = "recreate an object"

	// RewriteSecret writes the user's Secret N times. With -1 it gets the content of before.
	RewriteSecret Action = "rewrite the user's Secret"

	// Refuse has the API server refuse writes of a kind, in the way that the value names, and Allow ends that.
	Refuse Action = "refuse"
	Allow  Action = "allow"

	// Timeout lets an answer be lost at the Nth request: before or after the write, as the value says.
	Timeout Action = "time out"

	// Stop stops the operator's watch of a kind, and Resume has it go on.
	Stop   Action = "stop the watch"
	Resume Action = "resume the watch"

	// Kill ends the operator at the Nth request, before or after the write. Another one starts, with the chart of Field or the same.
	Kill Action = "kill the operator"

	// Restart ends the operator between two reconciles, and starts one with chart N.
	Restart Action = "restart the operator"

	// Rehash does so, too. That operator hashes otherwise what it renders, so it cannot tell what its predecessor has recorded.
	Rehash Action = "restart an operator that hashes otherwise"

	// DeleteRecords deletes the records of the last N revisions.
	DeleteRecords Action = "delete records"

	// ChangeBase gives the base that all Collectors share another content, N. 0 takes it from them, and Missing deletes it.
	ChangeBase Action = "change the base"

	// Pods says whether pods with configuration N become ready: always or never.
	Pods Action = "pods become ready"

	// Verdict says how a check of configuration N ends: accepted, refused, killed or late.
	Verdict Action = "checks end"

	// Decide promotes or aborts the change that canary pods prove or have failed to prove, as the value says, or takes that back.
	Decide Action = "decide about the canary"

	// Pass lets N seconds pass.
	Pass Action = "time passes"
)

// UserSecret is the target of Stop and Resume that is no kind: the Secret that a configuration comes from.
const UserSecret = "UserSecret"

// The ways in which the API server refuses.
const (
	Policy        = "policy"         // 422 without a field
	Quota         = "quota"          // 403 for a creation
	Webhook       = "webhook"        // 403 for any write
	BlindWebhook  = "blind webhook"  // the same, and it does not support dry runs
	SilentWebhook = "silent webhook" // refuses nothing, and does not support dry runs
	BrokenWebhook = "broken webhook" // 500 for any write, in some schedules after a while, and it does not support dry runs
	Keeper        = "keeper"         // 403 for a deletion
)

// Blind are the refusals that a dry run does not tell.
var Blind = []string{BlindWebhook, SilentWebhook, BrokenWebhook}

// Event is one thing that happens.
type Event struct {
	Action    Action
	Collector int    // which one
	Field     string // of the spec, the name of a mark, or a chart
	Target    string // a kind
	Value     string
	N         int

	// At is the request of the operator before which it happens, counted from the last event; 0 is for at once.
	At int

	// Rounds is how often the operator and the controllers get a moment afterwards.
	Rounds int
}

// String returns the event in one line.
func (e Event) String() string {
	var parts []string
	add := func(name string, value any, isSet bool) {
		if isSet {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	add("collector", e.Collector, e.Collector != 0)
	add("field", e.Field, e.Field != "")
	add("target", e.Target, e.Target != "")
	add("value", e.Value, e.Value != "")
	add("n", e.N, e.N != 0)
	add("at", e.At, e.At != 0)
	add("rounds", e.Rounds, true)
	return string(e.Action) + ": " + strings.Join(parts, " ")
}

// Schedule is what happens, one event after the other.
type Schedule struct {
	Seed uint64

	// Collectors is how many there are.
	Collectors int

	Events []Event
}

// String returns the schedule, a line for each event.
func (s Schedule) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %d Collectors\n", s.Seed, s.Collectors)
	for i, event := range s.Events {
		fmt.Fprintf(&text, "%3d %s\n", i+1, event)
	}
	return text.String()
}

// Shrink drops events from a schedule as long as it still fails.
func Shrink(s Schedule, fails func(Schedule) bool) Schedule {
	for size := len(s.Events) / 2; size > 0; {
		dropped := false
		for from := 0; from+size <= len(s.Events); {
			fewer := s
			fewer.Events = append(append([]Event{}, s.Events[:from]...), s.Events[from+size:]...)
			if fails(fewer) {
				s, dropped = fewer, true
				continue
			}
			from += size
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	return s
}
