package reconcile

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/live"
)

const (
	// uninstallTimeout is for how long after its deletion a Collector stays because of objects that have not gone. It is
	// bounded because a finalizer of another client may hold one for ever.
	uninstallTimeout = 30 * time.Second

	// goneWait is for how long of that one reconcile waits: all Collectors share a few workers. Mostly only the news of
	// the deletions are to come, within milliseconds.
	goneWait = time.Second

	// cacheWait is for how long a reconcile waits for the informer cache, so that the status can say that all is in order.
	cacheWait = 100 * time.Millisecond
)

// uninstall deletes all that the Collector controls, and the records of its releases. It tells whether there was anything to delete. A
// Collector that is deleted with `--cascade=orphan` keeps all of it.
func (r *reconcile) uninstall() (found bool, err error) {
	if controllerutil.ContainsFinalizer(r.collector, metav1.FinalizerOrphanDependents) {
		return false, nil
	}
	if err := r.look(); err != nil {
		return false, err
	}
	found = len(r.found) > 0
	if err := r.converge(); err != nil {
		return found, err
	}
	err = live.AwaitGone(r.ctx, r.goneWait, func() (map[live.Reference]live.Object, error) {
		err := r.look()
		return r.found, err
	})
	if err != nil {
		if !r.isLate() {
			return found, fmt.Errorf("%w; the Collector goes when they are gone, or after %s", err, uninstallTimeout)
		}
		r.tellLeft(err.Error())
	}
	if r.outcome.Message != "" {
		r.tellLeft(r.outcome.Message)
	}
	areRecorded, err := r.records.Forget(r.ctx, r.begun == nil || r.hasBegun() || !r.Alone)
	return found || areRecorded, err
}

// isLate tells whether a Collector that is being deleted waits no longer for its objects.
func (r *reconcile) isLate() bool {
	return r.now().Sub(r.collector.GetDeletionTimestamp().Time) >= uninstallTimeout
}

// tellLeft tells what stays when the Collector goes.
func (r *reconcile) tellLeft(what string) {
	log.FromContext(r.ctx).Info("let the Collector go without all of its objects", "because", what)
	r.Events.Eventf(r.collector, corev1.EventTypeWarning, "LeftBehind", "the Collector goes after %s: %.900s", uninstallTimeout, what)
}
