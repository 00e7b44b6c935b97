package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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

// uninstall deletes all that the Collector controls, and the records of its releases. It tells whether there was anything.
func (r *actionClient) uninstall() (found bool, err error) {
	records := r.recordsOf(r)
	if err := records.Prepare(r.ctx, 0); err != nil {
		return false, err
	}
	s, err := r.situation(plan.Want{})
	if err != nil {
		return false, err
	}
	found = len(s.View.Objects) > 0 || records.Any()
	deleted := r.collector.GetDeletionTimestamp()
	s.Late = deleted != nil && r.now().Sub(deleted.Time) >= uninstallTimeout
	if r.plan = r.decision(s); r.plan.Restores {
		switch err := r.repair(); {
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
	if err := r.awaitGone(); err != nil {
		if !s.Late {
			return found, err
		}
		log.FromContext(r.ctx).Info("let the Collector go without what it became", "because", err.Error())
	}
	return found, records.Forget(r.ctx)
}

// awaitGone waits until the informer cache has nothing that the Collector controls. It is an error that names what there
// is, and what holds it. For what a finalizer holds it does not wait.
func (r *actionClient) awaitGone() error {
	var left []string
	interval := 2 * time.Millisecond
	if r.isMoved { // each look is a request
		interval = r.goneWait / 4
	}
	err := wait.PollUntilContextTimeout(r.ctx, interval, r.goneWait, true, func(context.Context) (bool, error) {
		if err := r.look(); err != nil {
			return false, err
		}
		var areHeld bool
		left, areHeld = inventory.Left(r.found)
		return areHeld, nil
	})
	switch {
	case len(left) > 0:
		return fmt.Errorf("deleted, but still there: %s; the Collector goes when they are gone, or after %s",
			strings.Join(left, ", "), uninstallTimeout)
	case err != nil:
		return fmt.Errorf("wait for what was deleted: %w", err)
	}
	return nil
}
