package release

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
)

const (
	// uninstallTimeout is for how long after its deletion a Collector stays because of objects that have not gone. It is
	// bounded because somebody else's finalizer may hold one for ever.
	uninstallTimeout = 30 * time.Second

	// goneWait is for how long of that one reconcile waits: all Collectors share a few workers. Mostly only the news of
	// the deletions are to come, within milliseconds.
	goneWait = time.Second

	// cacheWait is for how long a reconcile waits for the informer cache, so that the status can say that all is in order.
	cacheWait = 100 * time.Millisecond
)

// errNoSet says that pods that look like a StatefulSet's are none: the deployed revision has another workload.
var errNoSet = errors.New("the deployed revision has no StatefulSet")

// uninstall deletes all that the Collector controls, and the records of its releases. It tells whether there was anything.
func (r *actionClient) uninstall() (found bool, err error) {
	s, err := r.situation(plan.Want{})
	if err != nil {
		return false, err
	}
	found = len(s.View.Objects) > 0
	deleted := r.collector.GetDeletionTimestamp()
	s.Late = deleted != nil && r.now().Sub(deleted.Time) >= uninstallTimeout
	if r.plan = r.decision(s); r.plan.Restores {
		switch err := r.repair(); {
		case errors.Is(err, errNoSet):
		case err == nil:
			return found, errors.New("the deployed StatefulSet takes its pods back before it goes")
		case !s.Late:
			return found, fmt.Errorf("pods run without their StatefulSet, and would stay: %w", err)
		}
		s.Deployed = "" // it cannot
		r.plan = r.decision(s)
	}
	if err := r.do(false, r.plan.Groups...); err != nil {
		return found, err
	}
	interval := 2 * time.Millisecond
	if r.isMoved { // each look is a request
		interval = r.goneWait / 4
	}
	err = inventory.AwaitGone(r.ctx, interval, r.goneWait, func() (map[inventory.Reference]inventory.Object, error) {
		err := r.look()
		return r.found, err
	})
	if err != nil {
		if err = fmt.Errorf("%w; the Collector goes when they are gone, or after %s", err, uninstallTimeout); !s.Late {
			return found, err
		}
		log.FromContext(r.ctx).Info("let the Collector go without what it became", "because", err.Error())
	}
	areRecorded, err := r.records.Forget(r.ctx)
	return found || areRecorded, err
}
