package flow

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// Period is the time between two looks at a Collector. Three of them are less than 3 minutes, and with mostPods a look no more than 3
	// pods are asked a minute.
	Period = 50 * time.Second

	// lossy is which share of the data may be lost, and full how full a queue may be, until the condition says so.
	lossy, full = 0.01, 0.8

	// windows is how many of them in a row must say the same, and idle how many that nothing flows where something did: bursts are no news.
	windows, idle = 2, 6

	// enough is how many pods of a Collector stand for all: with mostPods a look, thousands would take days.
	enough = 4

	// verdictTimeout is how many looks in a row may pass with fewer than enough. They suffice if each pod asked has a verdict at its third
	// answer.
	verdictTimeout = 8

	// longest is how many looks a condition that goes to and fro stays at most, and quiet after how many without a change it is calm again.
	longest, quiet = 16, 36
)

// answer is what a pod has answered: a sample, or the reason why there is none.
type answer struct {
	uid    types.UID
	sample *Sample
	why    string
}

// memory is what is remembered of a Collector.
type memory struct {
	pods       []pod
	looked     time.Duration // when it was looked at, since the watcher's start
	empty      uint8         // looks in a row without a pod that could be asked
	unsure     uint8         // looks in a row with fewer verdicts than stand for all
	same       uint8         // looks in a row with the same condition
	hold       uint8         // looks that it stays at least
	isObserved bool          // no more verdicts are waited for
	isForDoubt bool          // the slot that no canary has is for pods in doubt at the next look, and not at the one after it
}

// byUID returns what is remembered of each pod.
func (m memory) byUID() map[types.UID]pod {
	known := make(map[types.UID]pod, len(m.pods))
	for _, p := range m.pods {
		known[p.uid] = p
	}
	return known
}

// decide makes the reason of a Collector's condition of the one that it has, of what is remembered of its pods, and of what some of them
// have just answered. present are those that can be asked now. It is pure: the memory that it is given stays as it was.
//
// Each pod with a verdict votes for it, and the worst vote is the condition, or PartlyDropped if some pods send and others do not.
// While fewer than 4 pods have a verdict, or not all of fewer, the others vote for the condition as it is. After 8 such looks they no
// longer do.
func decide(current string, known memory, present []types.UID, answers []answer, now time.Duration) (string, memory) {
	current = states[codeOf(current)].reason // another version can have written one that is unknown here
	next := memory{pods: make([]pod, 0, len(present)), looked: now, isForDoubt: !known.isForDoubt}
	if len(present) == 0 {
		next.empty = min(known.empty+1, windows)
	}
	before, votes, judged := known.byUID(), map[string]int{}, 0
	for _, uid := range present {
		p := before[uid]
		p.uid, p.absent = uid, 0
		delete(before, uid)
		if at := slices.IndexFunc(answers, func(a answer) bool { return a.uid == uid }); at >= 0 {
			p = p.after(answers[at], now)
		}
		next.pods = append(next.pods, p)
		if p.verdict > 0 {
			judged++
			votes[states[p.verdict].reason]++
		}
	}
	for _, p := range known.pods { // one that is not ready for a moment is the same when it is back
		if _, isAbsent := before[p.uid]; isAbsent && p.absent < windows {
			p.absent, p.rates = p.absent+1, [queued]float32{}
			next.pods = append(next.pods, p)
		}
	}
	if judged < min(len(present), enough) {
		next.unsure = min(known.unsure+1, verdictTimeout)
	}
	next.isObserved = next.empty == windows || len(present) > 0 && (next.unsure == 0 || next.unsure == verdictTimeout)
	if !next.isObserved {
		votes[current]++
	}
	if next.empty == windows {
		votes = map[string]int{v1alpha1.ReasonUnreachable: 1}
	}
	next.same, next.hold = min(known.same+1, quiet), known.hold
	return next.stabilize(current, cmp.Or(merge(votes), current)), next
}

// stabilize returns the condition, which is reported and costs a write. After a change the next one waits twice as long as the one before.
func (m *memory) stabilize(is, want string) string {
	if m.same == quiet {
		m.hold = 0
	}
	switch {
	case is == want:
		return is
	case m.same < m.hold:
		m.isObserved = false
		return is
	case is != "":
		m.hold = min(max(1, 2*m.hold), longest)
	}
	m.same = 0
	return want
}

// rate returns how much there was per second, and nothing if no time has passed.
func rate(amount float64, within time.Duration) float32 {
	if within <= 0 {
		return 0
	}
	return float32(amount / within.Seconds())
}

// isOfRestart tells whether the collector has started anew since a sample: its counts have fallen. A part of
// the counts falls when a collector forgets a series, as of a file that has gone.
func (s *Sample) isOfRestart(before *Sample) bool {
	isBusy := before.values[received]+before.values[sent] > 0 // its other counts are small, and may have caught up
	for r := range queued {
		counts := before.values[r] > 0 && (!isBusy || r == received || r == sent)
		if counts && s.values[r] >= before.values[r] {
			return false
		}
	}
	return s.total < before.total
}

// since returns how much a count has grown.
func (s *Sample) since(before *Sample, r role) float64 { return max(0, s.values[r]-before.values[r]) }

// isLimited tells whether each queue has a capacity in the unit of what waits. Vector's disk buffers have one in bytes, and Prometheus has
// none. A queue that has held nothing yet can show its capacity alone.
func (s *Sample) isLimited() bool {
	return s.values[capacity] > 0 && s.series[0] <= s.series[capacity-queued]
}

// until returns the reason that two samples give.
func (s *Sample) until(now *Sample) string {
	grown := func(r role) float64 { return now.since(s, r) }
	out, lost := grown(sent), grown(dropped)
	waits := min(s.values[queued], now.values[queued])
	switch {
	case out == 0 && (grown(failed) > 0 || waits > 0):
		return v1alpha1.ReasonExportFails
	case out == 0 && grown(received)+lost > 0:
		return v1alpha1.ReasonAllDropped
	case grown(refused) > grown(received):
		return v1alpha1.ReasonRefusing
	case lost > lossy*(out+lost):
		return v1alpha1.ReasonPartlyDropped
	case out == 0:
		return v1alpha1.ReasonNoTraffic
	case waits > full*now.values[capacity] && now.isLimited():
		return v1alpha1.ReasonQueueFilling
	}
	return v1alpha1.ReasonFlowing
}

// state is what the condition can say.
type state struct {
	reason  string
	status  corev1.ConditionStatus
	message string
}

// states are all of them, the worst first. The first one is none.
var states = []state{
	{},
	{v1alpha1.ReasonExportFails, corev1.ConditionFalse, "nothing is sent: data waits, or each attempt to send it fails"},
	{v1alpha1.ReasonAllDropped, corev1.ConditionFalse, "data comes in, and none goes out"},
	{v1alpha1.ReasonRefusing, corev1.ConditionFalse, "the collector refuses most of the data that is sent to it"},
	{v1alpha1.ReasonPartlyDropped, corev1.ConditionFalse, "a part of the data is lost, or some pods send nothing"},
	{v1alpha1.ReasonQueueFilling, corev1.ConditionTrue, "data goes out, and the queue is nearly full"},
	{v1alpha1.ReasonFlowing, corev1.ConditionTrue, "data goes out"},
	{v1alpha1.ReasonNoTraffic, corev1.ConditionUnknown, "nothing comes in, and nothing goes out"},
	{v1alpha1.ReasonNoMetrics, corev1.ConditionUnknown, "pods answer, and not with the metrics that spec.flow means"},
	{v1alpha1.ReasonUnreachable, corev1.ConditionUnknown, "no pod that is ready answers on the port of its metrics"},
}

// code is the place of a reason in states: a fleet has many of them.
type code uint8

func codeOf(reason string) code {
	return code(max(0, slices.IndexFunc(states, func(s state) bool { return s.reason == reason }))) //nolint:gosec // there are few
}

func (c code) status() corev1.ConditionStatus { return states[c].status }

// isIdle tells whether the pod answers, and has no data.
func (c code) isIdle() bool { return states[c].reason == v1alpha1.ReasonNoTraffic }

func conditionFor(reason string) v1alpha1.Condition {
	is := states[codeOf(reason)]
	return v1alpha1.Condition{Type: v1alpha1.DataFlowing, Status: is.status, Reason: reason, Message: is.message}
}

// merge returns what pods say together: the worst of them, or that a part is lost if some send and others do not.
func merge(votes map[string]int) string {
	for _, r := range states[1:] {
		if votes[r.reason] == 0 {
			continue
		}
		if r.status == corev1.ConditionFalse && votes[v1alpha1.ReasonFlowing]+votes[v1alpha1.ReasonQueueFilling] > 0 {
			return v1alpha1.ReasonPartlyDropped
		}
		return r.reason
	}
	return ""
}
