package flow

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// next chooses the pods to ask: first a pod in doubt, whose next answer may decide. The others have their turn, for several that never
// decide would keep them waiting for ever. A pod of a canary without a verdict is in doubt, too. While verdicts are waited for, those go
// first that are on the way to one.
func (m memory) next(present []types.UID, canaries ...types.UID) []types.UID {
	isEager := m.unsure > 0 && m.unsure < verdictTimeout
	known := m.byUID()
	isFirst := func(uid types.UID) bool {
		p := known[uid]
		return p.isInDoubt() || p.verdict == 0 && slices.Contains(canaries, uid) || isEager && p.verdict == 0 && p.read > 0
	}
	chosen := slices.Clone(present)
	slices.SortFunc(chosen, func(a, b types.UID) int {
		return cmp.Or(cmp.Compare(known[a].read, known[b].read), cmp.Compare(a, b))
	})
	first := 1
	if isEager {
		first = mostPods
	}
	for to := range first {
		if from := slices.IndexFunc(chosen[min(to, len(chosen)):], isFirst) + to; from > to {
			uid := chosen[from]
			chosen = slices.Insert(slices.Delete(chosen, from, from+1), to, uid)
		}
	}
	return chosen[:min(mostPods, len(chosen))]
}
