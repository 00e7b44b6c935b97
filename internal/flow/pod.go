package flow

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// moreLost is how much more of the data may be lost than before, or than in other pods, until that is news: 10 percentage points. Pods of
// the same revision differ by less, for each has other clients.
const moreLost = 0.1

// pod is what is remembered of a pod.
type pod struct {
	uid     types.UID
	last    *Sample       // nil if it has given none
	sampled time.Duration // when it gave the last one, since the watcher's start
	read    time.Duration // when it was asked
	rates   [queued]float32
	verdict code
	of      run           // of the windows that made the verdict
	lost    float32       // the share that the last of them lost
	latest  time.Duration // when the last window began that agrees with the verdict
	says    code          // what the last windows said, which is not the verdict yet
	saying  run           // of those
	times   uint8         // how many of them in a row, or with pauses
	pauses  uint8         // windows without data in a row since then
	silent  uint8         // answers in a row without a sample
	absent  uint8         // looks in a row that found it not ready
}

// run is of windows in a row that say the same.
type run struct {
	since time.Duration // when the first of them began
	least float32       // the least share that one of them lost
}

// isInDoubt tells whether its next answer may decide.
func (p pod) isInDoubt() bool {
	return p.times > 0 && p.says != p.verdict || p.silent > 0 && p.silent < windows
}

// isNearVerdict tells whether it has no verdict yet, and has answered.
func (p pod) isNearVerdict() bool { return p.verdict == 0 && p.last != nil && p.silent == 0 }

// after returns what is known of a pod after an answer. An answer without a sample is no window. After a restart, counts begin at 0.
func (p pod) after(a answer, now time.Duration) pod {
	p.rates = [queued]float32{}
	if a.sample == nil {
		return p.unanswered(a.why, now)
	}
	is, lost := code(0), float32(0)
	if before := p.last; before != nil {
		if a.sample.isOfRestart(before) {
			before = &Sample{}
		}
		is = codeOf(before.until(a.sample))
		if is.status() == corev1.ConditionFalse {
			lost = before.lostUntil(a.sample)
		}
		for r := range queued {
			if p.silent == 0 { // or else it is longer ago
				p.rates[r] = rate(a.sample.since(before, r), now-p.read)
			}
		}
	}
	began := p.sampled
	p.last, p.sampled, p.read, p.silent = a.sample, now, now, 0
	if !is.isIdle() {
		p.pauses = 0
	}
	switch {
	case is == 0: // the first sample
	case is.isIdle() && p.times > 0 && !p.says.isIdle() && p.pauses < p.mostPauses():
		p.pauses++ // between bursts, which count as if they were in a row
	case is == p.verdict && math.Abs(float64(lost-p.lost)) <= moreLost:
		p.says, p.times, p.latest = 0, 0, began
	case is == p.says, p.times > 0 && is.status() == p.says.status() && is.status() != p.verdict.status():
		p.says, p.times, p.saying.least = is, p.times+1, min(p.saying.least, lost)
	default:
		p.says, p.times, p.saying = is, p.pauses+1, run{began, lost}
	}
	if p.times >= p.windows() {
		p.verdict, p.of, p.lost, p.latest = p.says, p.saying, lost, began
		p.says, p.times = 0, 0
	}
	return p
}

// unanswered returns what is known of a pod after an answer without a sample.
func (p pod) unanswered(why string, now time.Duration) pod {
	began := p.read
	if began == 0 { // it has not been asked before
		began = now
	}
	if p.silent == 0 && p.times == 0 {
		p.saying = run{since: began}
	}
	p.read, p.silent = now, min(p.silent+1, windows)
	if p.silent == windows {
		p.verdict, p.of, p.lost, p.latest = codeOf(why), p.saying, 0, began
		p.says, p.times = 0, 0
	}
	return p
}

// mostPauses returns how many windows in a row without data are a pause between bursts. A pod without a verdict soon has one.
func (p pod) mostPauses() uint8 {
	answers := p.verdict.status() != corev1.ConditionUnknown || p.verdict.isIdle()
	if p.verdict > 0 && answers {
		return idle - 1
	}
	return windows - 1
}

// windows returns how many of them in a row make what they say the verdict.
func (p pod) windows() uint8 {
	if p.says.isIdle() && p.verdict > 0 && p.verdict.status() != corev1.ConditionUnknown {
		return idle
	}
	return windows
}

// lostUntil returns the largest share of what failed, was dropped or was refused between two samples of a window that is bad.
func (s *Sample) lostUntil(now *Sample) (share float32) {
	if now.since(s, sent) == 0 {
		return 1
	}
	for _, of := range [...][2]role{{failed, sent}, {dropped, sent}, {refused, received}} {
		if lost := now.since(s, of[0]); lost > 0 {
			share = max(share, float32(lost/(lost+now.since(s, of[1]))))
		}
	}
	return share
}
