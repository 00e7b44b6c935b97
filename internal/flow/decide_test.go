package flow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Each row is what happens to the pods of a Collector, a step a window, and the reasons that its condition then has. A step has a part for
// each pod: how much its counts grow, or what becomes of it. A pod that a step does not name is not there. A pod with ~ is there, and
// is not asked.
func TestTheConditionSaysWhetherDataFlows(t *testing.T) {
	for _, row := range []struct{ name, current, steps, want string }{
		{"a new Collector says nothing for two windows, and then that data flows", "",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 out 5", "- | - | Flowing"},
		{"a backend that dies is told after two windows", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 wait 5 | a: in 5 wait 10 | a: in 5 wait 15",
			"Flowing | Flowing | Flowing | ExportFails | ExportFails"},
		{"one that dies without a queue is told after two windows", "Flowing",
			"a: in 5 out 5 | a: refused 5 fail 5 lost 5 | a: refused 5 fail 5 lost 5", "Flowing | Flowing | ExportFails"},
		{"its recovery is told after two windows", "ExportFails",
			"a: wait 9 | a: in 5 out 9 wait 5 | a: in 5 out 9 | a: in 5 out 5", "ExportFails | ExportFails | Flowing | Flowing"},
		{"one bad window changes nothing", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 fail 2 | a: in 5 out 5 | a: in 5 fail 2 | a: in 5 out 9",
			"Flowing | Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"data that comes in and goes nowhere is dropped", "Flowing",
			"a: in 5 out 5 | a: in 5 | a: in 5 lost 5", "Flowing | Flowing | AllDropped"},
		{"two bad windows count, also if they have other reasons", "Flowing",
			"a: in 5 out 5 | a: in 5 lost 5 | a: in 5 wait 2 | a: in 5 fail 5 wait 2", "Flowing | Flowing | AllDropped | AllDropped"},
		{"more than 1 % that is lost is a part", "Flowing",
			"a: in 99 out 99 | a: in 99 out 95 lost 4 | a: in 99 out 95 lost 4", "Flowing | Flowing | PartlyDropped"},
		{"less than 1 % is none", "Flowing",
			"a: in 999 out 999 | a: in 999 out 998 lost 1 | a: in 999 out 998 lost 1", "Flowing | Flowing | Flowing"},
		{"a collector that refuses more than it takes is refusing", "Flowing",
			"a: in 5 out 5 | a: refused 9 in 1 out 1 | a: refused 9", "Flowing | Flowing | Refusing"},
		{"nothing in and nothing out is no traffic", "Flowing", "a: in 5 out 5 | a: | a:", "Flowing | Flowing | NoTraffic"},
		{"a pod that was seen sending is idle after 6 windows without traffic", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 out 5 | a: | a: | a: | a: | a: | a:",
			"Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | NoTraffic"},
		{"after 5 it may send on", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 out 5 | a: | a: | a: | a: | a: | a: in 5 out 5 | a: ",
			"Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"a backend that dies is told after two windows with data, also with pauses between them", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 out 5 | a: in 5 fail 5 lost 5 | a: | a: in 5 fail 5 lost 5",
			"Flowing | Flowing | Flowing | Flowing | Flowing | ExportFails"},
		{"its recovery is told after two windows with data, also with pauses between them", "NoTraffic",
			"a: | a: | a: | a: in 5 out 5 | a: | a: in 5 out 5", "NoTraffic | NoTraffic | NoTraffic | NoTraffic | NoTraffic | Flowing"},
		{"a burst that fails before a time without traffic is forgotten", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | a: in 5 out 5 | a: in 5 fail 5 lost 5 | a: | a: | a: | a: | a: | a: | a: in 5 fail 5 lost 5",
			"Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | Flowing | NoTraffic | NoTraffic"},
		{"a backend that dies while there is no traffic is told after two windows with some", "NoTraffic",
			"a: | a: | a: | a: in 5 | a: in 5", "NoTraffic | NoTraffic | NoTraffic | NoTraffic | AllDropped"},
		{"nothing in, and a queue that stands still, is a dead backend", "NoTraffic", "a: wait 5 | a: wait 5 | a: wait 5",
			"NoTraffic | NoTraffic | ExportFails"},
		{"a queue that is nearly full is a warning while data goes out", "Flowing",
			"a: in 5 out 5 wait 85 | a: in 5 out 5 wait 90 | a: in 5 out 5 wait 90", "Flowing | Flowing | QueueFilling"},
		{"a page without metrics is told after two looks", "Flowing", "a: garbage | a: garbage", "Flowing | NoMetrics"},
		{"a pod that does not answer is told after two looks", "Flowing", "a: silent | a: silent", "Flowing | Unreachable"},
		{"a look that fails between others changes nothing", "Flowing",
			"a: in 5 out 5 | a: silent | a: in 5 out 5 | a: in 5 out 5", "Flowing | Flowing | Flowing | Flowing"},
		{"one that answers now and then is reachable", "Flowing",
			"a: silent | a: in 5 out 5 | a: silent | a: in 5 out 5 | a: silent", "Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"a collector that starts anew counts from nothing", "Flowing",
			"a: in 50 out 50 | a: restart in 9 out 9 | a: in 50 out 50 | a: restart in 9 | a: in 5 out 5", "Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"a collector that starts anew may soon fail as often as before", "Flowing",
			"a: in 900 out 900 fail 1 | a: restart in 9 out 9 fail 2 | a: restart in 8 out 8 fail 3", "Flowing | Flowing | Flowing"},
		{"a series that a collector forgets is no restart", "Flowing",
			"a: in 900 out 950 | a: in -99 | a: in -99", "Flowing | Flowing | NoTraffic"},
		{"a dead backend is told, though its pod starts anew each time", "Flowing",
			"a: in 50 out 50 | a: restart in 9 | a: restart in 8", "Flowing | Flowing | AllDropped"},
		{"a dead backend is told, though its pods are not ready now and then", "Flowing",
			"a: in 5 out 5; b: in 5 out 5 | a: in 5 | b: in 5 | a: in 5 | b: in 5", "Flowing | Flowing | Flowing | AllDropped | AllDropped"},
		{"what was known of a pod is forgotten when it is away for long", "Flowing",
			"a: in 5 | a: in 5 ; b: ~ | b: ~ | b: ~ | b: ~ | a: in 5; b: ~", "Flowing | Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"a pod that answers every other time gets its verdict", "AllDropped",
			"a: in 5 | a: silent | a: in 5 out 5 | a: silent | a: in 5 out 5", "AllDropped | AllDropped | AllDropped | AllDropped | Flowing"},
		{"pods that come and go keep the condition", "Flowing",
			"a: in 5 out 5 | a: in 5 out 5 | b: in 5 | b: in 5 out 9 | c: in 5 | c: in 5 out 5",
			"Flowing | Flowing | Flowing | Flowing | Flowing | Flowing"},
		{"without a pod that can be asked for two windows, the state is unknown", "Flowing", "a: in 5 out 5 | | ", "Flowing | Flowing | Unreachable"},
		{"a pod in trouble beside others is a part", "Flowing",
			"a: in 5 out 5; b: in 5 out 5 | a: in 5 fail 1; b: in 5 out 5 | a: in 5 fail 1; b: in 5 out 5", "Flowing | Flowing | PartlyDropped"},
		{"one of many that was not asked yet counts like the condition", "Flowing",
			"a: ; b: ~; c: ~ | a: ; b: ~; c: ~ | a: ; b: ~; c: ~", "Flowing | Flowing | Flowing"},
		{"all pods in trouble are the worst of them", "Flowing",
			"a: in 5 out 5; b: in 5 out 5 | a: in 5 fail 1; b: in 5 | a: in 5 fail 1; b: in 5", "Flowing | Flowing | ExportFails"},
		{"idle pods beside a busy one are none", "", "a: ; b: in 1 | a: ; b: in 1 out 1 | a: ; b: in 1 out 1", "- | - | Flowing"},
		{"a pod that does not answer beside a busy one is none", "Flowing", "a: silent; b: in 1 | a: silent; b: in 1 out 1 | a: silent; b: out 1",
			"Flowing | Flowing | Flowing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			current, known, pages, now := row.current, memory{}, map[string]*Sample{}, time.Duration(0)
			var got []string
			for step := range strings.SplitSeq(row.steps, "|") {
				present, answers := read(t, step, pages)
				now += Period
				current, known = decide(current, known, present, answers, now)
				got = append(got, cmp.Or(current, "-"))
			}
			if all := strings.Join(got, " | "); all != row.want {
				t.Errorf("got  %s\nwant %s", all, row.want)
			}
		})
	}
}

func TestACollectorWithoutAPodToAskIsNotWaitedFor(t *testing.T) {
	reason, known := v1alpha1.ReasonFlowing, memory{}
	for look := range 4 {
		reason, known = decide(reason, known, nil, nil, Period*time.Duration(look))
		if known.isObserved != (look+1 >= windows) {
			t.Errorf("look %d: %s, observed %t", look, reason, known.isObserved)
		}
	}
}

// In an hour pods restart, are replaced, come and go, and lose an answer or a window now and then. Data flows all the time.
func TestAnHourOfRestartsIsNoTransition(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		type process struct {
			uid       types.UID
			in, out   float64
			isTrouble bool // the last window
		}
		made := 0
		start := func() *process {
			made++
			return &process{uid: types.UID(fmt.Sprint("pod ", made))}
		}
		running := []*process{start(), start(), start()}[:1+seed%3]
		current, known, now := v1alpha1.ReasonFlowing, memory{}, time.Duration(0)
		for range int(time.Hour / Period) {
			now += Period
			switch random.IntN(10) {
			case 0: // a restart
				running[0].in, running[0].out = 0, 0
			case 1: // a rollout
				running[random.IntN(len(running))] = start()
			case 2: // the autoscaler
				running = append(running, start())
			case 3:
				running = running[:max(1, len(running)-1)]
			}
			present, answers := []types.UID{}, []answer{}
			for _, p := range running {
				present = append(present, p.uid)
			}
			for _, uid := range known.next(present) {
				p := running[slices.Index(present, uid)]
				p.in += 100 * random.Float64()
				wasTrouble := p.isTrouble
				p.isTrouble = !wasTrouble && random.IntN(6) == 0
				a := answer{uid: uid, sample: &Sample{}}
				switch {
				case p.isTrouble && random.IntN(2) == 0:
					a.sample, a.why = nil, v1alpha1.ReasonUnreachable
				case !p.isTrouble:
					p.out = p.in
				}
				if a.sample != nil {
					a.sample.values[received], a.sample.values[sent], a.sample.total = p.in, p.out, p.in+p.out
				}
				answers = append(answers, a)
			}
			if current, known = decide(current, known, present, answers, now); current != v1alpha1.ReasonFlowing {
				t.Fatalf("seed %d: %s after %s", seed, current, now)
			}
		}
	}
}

// read reads a step.
func read(t *testing.T, step string, pages map[string]*Sample) (present []types.UID, answers []answer) {
	t.Helper()
	if strings.TrimSpace(step) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(step, ";") {
		name, text, _ := strings.Cut(part, ":")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		present = append(present, types.UID(name))
		a := answer{uid: types.UID(name)}
		switch text {
		case "~":
			continue
		case "silent":
			a.why = v1alpha1.ReasonUnreachable
		case "garbage":
			a.why = v1alpha1.ReasonNoMetrics
		default:
			next := &Sample{}
			text, isNew := strings.CutPrefix(text, "restart")
			if pages[name] != nil && !isNew {
				*next = *pages[name]
			}
			next.values[queued], next.values[capacity] = 0, 100
			words := strings.Fields(text)
			for i := 0; i < len(words); i += 2 {
				role := map[string]role{"in": received, "out": sent, "fail": failed, "lost": dropped, "refused": refused, "wait": queued}[words[i]]
				var n float64
				if _, err := fmt.Sscan(words[i+1], &n); err != nil {
					t.Fatal(err)
				}
				next.values[role] += n
				if role < queued {
					next.total += n
				}
			}
			pages[name], a.sample = next, next
		}
		answers = append(answers, a)
	}
	return present, answers
}

// Real collectors, as recorded: with a backend that is not there, and with one that answers.
func TestRecordedCollectorsTellADeadBackend(t *testing.T) {
	for _, vendor := range []v1alpha1.FlowProfile{v1alpha1.FlowOpenTelemetry, v1alpha1.FlowPrometheus, v1alpha1.FlowTelegraf, v1alpha1.FlowVMAgent} {
		for state, want := range map[string]string{"dead": v1alpha1.ReasonExportFails, "live": v1alpha1.ReasonFlowing} {
			before := recorded(t, vendor, string(vendor)+"-"+state+"-1.txt")
			if got := before.until(recorded(t, vendor, string(vendor)+"-"+state+"-2.txt")); got != want {
				t.Errorf("%s with a %s backend: %s, want %s", vendor, state, got, want)
			}
		}
	}
}

// Vector shows what waits of each buffer that something went through, and how many events fit only where it is limited in events.
func TestAQueueIsFullByTheCapacityOfAll(t *testing.T) {
	for name, row := range map[string]struct{ page, want string }{
		"one on disk beside one in memory": {`vector_buffer_events{component_id="disk"} 5000
			vector_buffer_max_byte_size{component_id="disk"} 268435488
			vector_buffer_events{component_id="memory"} 0
			vector_buffer_max_event_size{component_id="memory"} 500`, v1alpha1.ReasonFlowing},
		"one in memory that is full": {`vector_buffer_events{component_id="memory"} 450
			vector_buffer_max_event_size{component_id="memory"} 500`, v1alpha1.ReasonQueueFilling},
		"both names of version 0.53": {`vector_buffer_events{component_id="memory"} 450
			vector_buffer_size_events{component_id="memory"} 450
			vector_buffer_max_event_size{component_id="memory"} 500
			vector_buffer_max_size_events{component_id="memory"} 500`, v1alpha1.ReasonQueueFilling},
		"a full one beside one that nothing went through yet": {`vector_buffer_events{component_id="memory"} 5000
			vector_buffer_max_event_size{component_id="memory"} 5000
			vector_buffer_max_event_size{component_id="rare"} 500`, v1alpha1.ReasonQueueFilling},
		"two in memory, of which one is full": {`vector_buffer_events{component_id="a"} 500
			vector_buffer_max_event_size{component_id="a"} 500
			vector_buffer_events{component_id="b"} 0
			vector_buffer_max_event_size{component_id="b"} 500`, v1alpha1.ReasonFlowing},
	} {
		var looks []*Sample
		for _, out := range []string{"10", "20"} {
			page := strings.ReplaceAll(row.page, "\t", "") + "\nvector_component_sent_events_total{component_kind=\"sink\"} " + out + "\n"
			sample, err := readers[v1alpha1.FlowVector].read(strings.NewReader(page), make([]byte, lineLength))
			if err != nil {
				t.Fatal(err)
			}
			looks = append(looks, sample)
		}
		if got := looks[0].until(looks[1]); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}
