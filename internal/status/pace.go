package status

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// together is how long news waits for what belongs to it: a pod tells first, its workload a moment later.
	together = 500 * time.Millisecond

	// longest bounds the time between two reconciles that news brings. Calm for twice as long makes news urgent again.
	longest = 30 * time.Second
)

// urgency says how soon news should be seen.
type urgency int

const (
	detail urgency = iota // changes what is said
	turn                  // changes whether the workload is ready
	change                // follows a change of the workload's spec
)

// pacer delays the reconciles of a Collector that news of its pods asks for, ever longer as long as there is news: a rollout
// is followed as it happens, and a pod that flaps for hours costs a reconcile every longest. News of readiness has delays
// of its own, because a user may wait for it.
type pacer struct {
	exists func(context.Context, client.ObjectKey) bool // see WatchPods
	delays *flowcontrol.Backoff
}

func newPacer(exists func(context.Context, client.ObjectKey) bool) *pacer {
	return &pacer{exists: exists, delays: flowcontrol.NewBackOff(together, longest)}
}

// ask has a Collector reconciled after news about it. The reconcile always begins after the news.
func (p *pacer) ask(ctx context.Context, q queue, request reconcile.Request, urgent urgency) {
	if !p.exists(ctx, request.NamespacedName) {
		return
	}
	id := request.String()
	switch urgent {
	case change:
		p.delays.DeleteEntry(id)
		p.delays.DeleteEntry(id + " turn")
	case turn:
		id += " turn"
	case detail:
	}
	if now := time.Now(); !p.delays.IsInBackOffSinceUpdate(id, now) {
		p.delays.Next(id, now)
	}
	q.AddAfter(request, p.delays.Get(id)) // or earlier, if one is due earlier
}
