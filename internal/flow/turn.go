package flow

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// wish tells whether a pod must be asked before those that were asked longer ago.
type wish func(types.UID) bool

// next chooses the pods to ask: first a pod in doubt, whose next answer may decide. The others have their turn, for several that never
// decide would keep them waiting for ever. While verdicts are waited for, those go first that are on the way to one.
//
// While a change proves itself, the first is always a pod of a canary, for the verdict ends the proof. Of the others, those in doubt go
// first at every other look.
func (m memory) next(present []types.UID, canaries ...types.UID) []types.UID {
	isEager := m.unsure > 0 && m.unsure < verdictTimeout
	known := m.byUID()
	chosen := slices.Clone(present)
	slices.SortFunc(chosen, func(a, b types.UID) int {
		return cmp.Or(cmp.Compare(known[a].read, known[b].read), cmp.Compare(a, b))
	})
	onItsWay := func(uid types.UID) bool {
		p := known[uid]
		return p.isInDoubt() || isEager && p.verdict == 0 && p.read > 0
	}
	first := [mostPods][]wish{{onItsWay}}
	if len(canaries) > 0 {
		isCanary := func(uid types.UID) bool { return slices.Contains(canaries, uid) }
		first[0] = []wish{isCanary}
		if m.isForDoubt { // or else a verdict comes when each of many has been asked twice
			isNear := func(uid types.UID) bool { return isCanary(uid) && known[uid].isNearVerdict() }
			first[0] = []wish{isNear, isCanary}
		}
	}
	switch {
	case isEager:
		first[1] = []wish{onItsWay}
	case len(canaries) > 0 && m.isForDoubt:
		first[1] = append(m.witnesses(canaries), onItsWay)
	}
	for to, wishes := range first {
		for _, isFirst := range wishes {
			if from := slices.IndexFunc(chosen[min(to, len(chosen)):], isFirst) + to; from >= to {
				uid := chosen[from]
				chosen = slices.Insert(slices.Delete(chosen, from, from+1), to, uid)
				break
			}
		}
	}
	return chosen[:min(mostPods, len(chosen))]
}

// witnesses wish for pods whose next window shows whether what happens in a pod of a canary happens in others, too: those whose last sample
// is no older than its first bad window. They wish for none if no such pod does badly, or another one has already shown it.
func (m memory) witnesses(canaries []types.UID) []wish {
	isBad, since := false, time.Duration(0)
	for _, p := range m.pods {
		is, of := p.verdict, p.of
		if p.times > 0 {
			is, of = p.says, p.saying
		}
		if is > 0 && is.status() != corev1.ConditionTrue && slices.Contains(canaries, p.uid) {
			isBad, since = true, max(since, of.since)
		}
	}
	willShow := map[types.UID]bool{} // and whether it has said something else since
	for _, p := range m.pods {
		if p.verdict == 0 || p.absent > 0 || p.verdict.status() == corev1.ConditionUnknown || slices.Contains(canaries, p.uid) {
			continue
		}
		if !isBad || p.latest >= since {
			return nil
		}
		if p.sampled >= since {
			willShow[p.uid] = p.times > 0
		}
	}
	return []wish{
		func(uid types.UID) bool { return willShow[uid] },
		func(uid types.UID) bool { _, will := willShow[uid]; return will },
	}
}
