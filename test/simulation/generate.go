package simulation

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Kinds are those of the objects that a Collector becomes in a schedule.
var Kinds = []string{
	"ServiceAccount", "Secret", "PersistentVolumeClaim", "Job", "Service", "NetworkPolicy", "PodDisruptionBudget",
	"Deployment", "DaemonSet", "StatefulSet", "HorizontalPodAutoscaler", "ScaledObject", "ServiceMonitor",
}

// generator draws events.
type generator struct {
	*rand.Rand
	schedule Schedule
}

// New returns the schedule of a seed: always the same one.
func New(seed uint64) Schedule {
	//nolint:gosec // a seed has the same schedule each time
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 25)), schedule: Schedule{Seed: seed, Collectors: 1}}
	if g.chance(8) {
		g.schedule.Collectors = 3
	}
	_ = g.IntN(6)         // of a dimension that has gone, so that each seed keeps its events
	for range g.IntN(3) { // it need not begin with the first spec
		g.edit(0)
	}
	g.add(Event{Action: Pass, N: 60})
	for range 3 + g.IntN(18) {
		g.next()
	}
	g.sometimes(29, 4, g.changeBases)
	g.sometimes(30, 8, g.rehash)
	g.sometimes(31, 8, g.deleteRecords)
	g.sometimes(32, 4, g.editMounts)
	g.sometimes(51, 4, g.editClaims)
	g.sometimes(33, 4, g.canaries)
	g.sometimes(60, 8, g.decisions)
	return g.schedule
}

// canaries adds changes that have to prove themselves, and pods that die.
func (g *generator) canaries(draw *rand.Rand) {
	collector := draw.IntN(g.schedule.Collectors)
	for range 2 + draw.IntN(4) {
		e := Event{Action: Pass, N: []int{10, 40, 400}[draw.IntN(3)], Collector: collector, Rounds: draw.IntN(4)}
		switch draw.IntN(4) {
		case 0:
			e.Action, e.N, e.Value = Pods, draw.IntN(6), "dies"
		case 1:
			e = Event{Action: Edit, Field: "image", Value: strconv.Itoa(1 + draw.IntN(3)), Collector: collector, Rounds: 5}
		case 2:
			e = Event{Action: Edit, Field: "configuration", Value: strconv.Itoa(1 + draw.IntN(5)), Collector: collector, Rounds: 5}
		}
		g.insert(draw, 0, e)
	}
	event := Event{Action: Edit, Field: "canary", Value: "true", Collector: collector}
	g.schedule.Events = slices.Insert(g.schedule.Events, draw.IntN(3), event)
}

// decisions adds what users decide about canaries, each a moment after a change.
func (g *generator) decisions(draw *rand.Rand) {
	collector := draw.IntN(g.schedule.Collectors)
	g.schedule.Events = slices.Insert(g.schedule.Events, 0, Event{Action: Edit, Field: "canary", Value: "true", Collector: collector})
	for range 1 + draw.IntN(3) {
		at := 1 + draw.IntN(len(g.schedule.Events))
		value := []string{"promote", "promote", "abort", "abort", ""}[draw.IntN(5)]
		g.schedule.Events = slices.Insert(g.schedule.Events, at,
			Event{Action: Edit, Field: "configuration", Value: strconv.Itoa(1 + draw.IntN(5)), Collector: collector, Rounds: 1 + draw.IntN(5)},
			Event{Action: Decide, Value: value, Collector: collector, At: max(0, draw.IntN(6)-4), Rounds: draw.IntN(4)})
	}
}

// sometimes adds events to one schedule in some. They have a stream of random numbers of their own, so that the others stay as they were.
func (g *generator) sometimes(stream uint64, in int, add func(draw *rand.Rand)) {
	//nolint:gosec // a seed has the same schedule each time
	if draw := rand.New(rand.NewPCG(g.schedule.Seed, stream)); draw.IntN(in) == 0 {
		add(draw)
	}
}

// insert adds an event at any place from one on.
func (g *generator) insert(draw *rand.Rand, from int, e Event) {
	at := from + draw.IntN(len(g.schedule.Events)+1-from)
	g.schedule.Events = slices.Insert(g.schedule.Events, at, e)
}

// rehash adds an operator that hashes otherwise.
func (g *generator) rehash(draw *rand.Rand) {
	g.insert(draw, 1, Event{Action: Rehash, N: 1 + draw.IntN(3), Rounds: draw.IntN(4)})
}

// deleteRecords adds a deletion of records.
func (g *generator) deleteRecords(draw *rand.Rand) {
	g.insert(draw, 1, Event{Action: DeleteRecords, N: 1 + draw.IntN(3), Collector: draw.IntN(g.schedule.Collectors), Rounds: draw.IntN(4)})
}

// editMounts adds edits of what pods use.
func (g *generator) editMounts(draw *rand.Rand) {
	collector := draw.IntN(g.schedule.Collectors)
	for range 1 + draw.IntN(4) {
		edit := Event{Action: Edit, Field: "role", Value: strconv.Itoa(draw.IntN(3)), Collector: collector, Rounds: draw.IntN(4)}
		if draw.IntN(2) == 0 {
			edit.Field = []string{"volume-size", "volume-size", "volumes"}[draw.IntN(3)]
		}
		g.insert(draw, 0, edit)
	}
}

// editClaims adds edits of the claim templates of a StatefulSet.
func (g *generator) editClaims(draw *rand.Rand) {
	collector := draw.IntN(g.schedule.Collectors)
	at := draw.IntN(1 + len(g.schedule.Events)/2)
	mode := Event{Action: Edit, Field: "mode", Value: "statefulset", Collector: collector, Rounds: draw.IntN(9)}
	g.schedule.Events = slices.Insert(g.schedule.Events, at, mode)
	for range 1 + draw.IntN(5) {
		edit := Event{Action: Edit, Field: "claim-size", Value: strconv.Itoa(draw.IntN(3)), Collector: collector, Rounds: draw.IntN(9)}
		if draw.IntN(3) == 0 {
			edit.Field, edit.Value = "claim-class", []string{"", "fast", "slow"}[draw.IntN(3)]
		}
		g.insert(draw, at+1, edit)
	}
}

// changeBases adds changes of a base.
func (g *generator) changeBases(draw *rand.Rand) {
	for range 1 + draw.IntN(4) {
		g.insert(draw, 0, Event{Action: ChangeBase, N: draw.IntN(Missing + 1), At: max(0, draw.IntN(8)-4), Rounds: draw.IntN(4)})
	}
}

func (g *generator) chance(in int) bool { return g.IntN(in) == 0 }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// target returns a kind: mostly one that every Collector has.
func (g *generator) target() string {
	if g.chance(2) {
		return g.pick("Secret", "Service", "NetworkPolicy", "Deployment", "Deployment", "StatefulSet")
	}
	return Kinds[g.IntN(len(Kinds))]
}

func (g *generator) add(e Event) {
	if e.Collector == 0 && g.schedule.Collectors > 1 {
		e.Collector = g.IntN(g.schedule.Collectors)
	}
	g.schedule.Events = append(g.schedule.Events, e)
}

// edit adds an edit of the spec.
func (g *generator) edit(rounds int) {
	var field, value string
	switch g.IntN(16) {
	case 0, 1, 2:
		field, value = "mode", g.pick("deployment", "deployment", "daemonset", "statefulset", "statefulset")
	case 3:
		field, value = "ports", strconv.Itoa(1+g.IntN(3))
	case 4:
		field, value = "image", strconv.Itoa(1+g.IntN(3))
	case 5, 6:
		field, value = "configuration", strconv.Itoa(g.IntN(Broken+1))
	case 7, 8:
		field, value = "check", strconv.Itoa(g.IntN(3))
	case 9:
		field, value = "claim-size", strconv.Itoa(g.IntN(4))
	case 10:
		field, value = "volumes", strconv.Itoa(g.IntN(4))
	case 11, 12:
		field, value = "autoscaling", g.pick("none", "hpa", "keda")
	case 13:
		field, value = "replicas", strconv.Itoa(g.IntN(4))
	case 14:
		field, value = g.pick("budget", "policy", "host-port"), g.pick("true", "false")
	default:
		field, value = "account", g.pick("", "other", "third")
	}
	g.add(Event{Action: Edit, Field: field, Value: value, Rounds: rounds})
}

// next adds one event, or two that belong together.
func (g *generator) next() {
	rounds := []int{0, 0, 1, 2, 5}[g.IntN(5)]
	if len(g.schedule.Events) == 0 {
		rounds = 5
	}
	choice := g.IntN(30)
	switch choice {
	default:
		g.edit(rounds)
	case 10:
		g.add(Event{Action: Delete, Target: g.target(), N: g.IntN(3), Rounds: rounds})
	case 11:
		g.add(Event{Action: g.action(EditApplied, EditApplied, EditOther), Target: g.target(), N: g.IntN(9), Rounds: rounds})
	case 12:
		held := Event{Action: g.action(Hold, Hold, Release), Target: g.target(), Rounds: rounds}
		g.add(held)
		if held.Action == Hold && g.chance(2) {
			held = g.schedule.Events[len(g.schedule.Events)-1]
			g.add(Event{Action: Delete, Collector: held.Collector, Target: held.Target, Rounds: rounds})
		}
	case 13, 14:
		g.add(Event{Action: Scale, N: 1 + g.IntN(4), Rounds: rounds})
	case 15:
		g.add(Event{Action: g.action(Occupy, Occupy, Vacate), Target: g.target(), N: g.IntN(3), Rounds: rounds})
	case 16:
		g.add(Event{Action: Recreate, Target: g.target(), N: g.IntN(3), Rounds: rounds})
	case 17:
		if g.chance(2) {
			g.add(Event{Action: Edit, Field: "configuration", Value: "0", Rounds: rounds})
		}
		collector := g.schedule.Events[len(g.schedule.Events)-1].Collector
		if g.chance(2) { // once before the operator reads it, and once when it does
			g.add(Event{Action: RewriteSecret, Collector: collector, N: 1})
		}
		g.add(Event{Action: RewriteSecret, Collector: collector, N: 1 + g.IntN(2), At: g.IntN(4), Rounds: rounds})
		if g.chance(3) {
			g.add(Event{Action: RewriteSecret, Collector: collector, N: -1, Rounds: rounds})
		}
	case 18, 19, 20:
		how := g.pick(Policy, Policy, Quota, Quota, Webhook, BlindWebhook, SilentWebhook, BrokenWebhook)
		g.add(Event{Action: Refuse, Target: g.target(), Value: how, Rounds: rounds})
		g.edit(5)
	case 21, 22, 23, 24, 25, 26, 27, 28, 29:
		g.fault(choice, rounds)
	}
}

// fault adds an event of those that no person brings.
func (g *generator) fault(choice, rounds int) {
	switch choice {
	case 21:
		g.add(Event{Action: Allow, Rounds: rounds})
	case 22:
		g.add(Event{Action: Timeout, N: 1 + g.IntN(8), Value: g.pick("before", "after"), Rounds: rounds})
	case 23:
		target := g.pick(append([]string{"Pod", "Pod", UserSecret}, Kinds...)...)
		g.add(Event{Action: g.action(Stop, Stop, Resume), Target: target, Rounds: rounds})
	case 24:
		g.add(Event{Action: Kill, Field: g.pick("", "1", "2", "3"), N: 1 + g.IntN(9), Value: g.pick("before", "after"), Rounds: rounds})
	case 25:
		g.add(Event{Action: Restart, N: 1 + g.IntN(3), Rounds: rounds})
	case 26:
		if g.chance(4) {
			g.add(Event{Action: DeleteCollector, Rounds: rounds})
			g.add(Event{Action: CreateCollector, Rounds: 5})
			return
		}
		g.mark(rounds)
	case 27:
		g.add(Event{Action: Pods, N: g.IntN(6), Value: g.pick("never", "never", "always"), Rounds: rounds})
	case 28:
		g.add(Event{Action: Verdict, N: g.IntN(6), Value: g.pick("accepted", "refused", "refused", "killed", "late"), Rounds: rounds})
	case 29:
		g.add(Event{Action: Pass, N: []int{1, 5, 30, 400}[g.IntN(4)], Rounds: rounds})
	}
}

func (g *generator) action(from ...Action) Action { return from[g.IntN(len(from))] }

func (g *generator) mark(rounds int) {
	e := Event{Action: Mark, Rounds: rounds}
	switch g.IntN(4) {
	case 0:
		e.Field, e.Value = "paused", g.pick("", "true", "True", "perhaps")
	case 1:
		e.Field, e.Value = "ring", g.pick("", "0", "1")
	case 2:
		e.Field, e.Value = "rollout", g.pick("", "hold", "now")
	default:
		e.Field, e.Value = "note", g.pick("0", "1")
	}
	g.add(e)
}
