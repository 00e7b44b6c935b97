// Package unlock lets a release go on that an operator left half done.
//
// It decorates the stock action client's Get, with which each pass over a Collector begins. Helm refuses to upgrade a
// release that is pending, because somebody else may be working on it. With leader election nobody is: one operator at
// a time is active, and it makes one pass over a Collector at a time. So a release that is pending when a pass begins
// was left by an operator that has ended, and is marked as failed; the reconciler then upgrades it. Without leader
// election another operator may be at work, so the release is left to it for as long as that may take.
package unlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Grace is how long a release is left to another operator that may be working on it. It is the time that Helm gives an
// operation.
const Grace = 5 * time.Minute

// Getter gives action clients that unlock releases.
type Getter struct {
	// Next gives the clients that are decorated.
	Next helmclient.ActionClientGetter

	// Grace is how long a release may be pending before it is unlocked: 0 where no other operator can be active.
	Grace time.Duration

	// Events takes the event Unlocked.
	Events record.EventRecorder
}

// ActionClientFor returns the action client of one pass over collector.
func (g Getter) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	actions, err := g.Next.ActionClientFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	return actionClient{ActionInterface: actions, getter: g, ctx: ctx, collector: collector}, nil
}

type actionClient struct {
	helmclient.ActionInterface
	getter    Getter
	ctx       context.Context //nolint:containedctx // of that pass; the interface has no room for it
	collector client.Object
}

// Get returns the latest revision of a release, marked as failed if it was pending. It is an error if another operator
// may be working on it.
func (c actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	rel, err := c.ActionInterface.Get(name, opts...)
	if err != nil || !rel.Info.Status.IsPending() {
		return rel, err
	}
	pending, since := rel.Info.Status, rel.Info.LastDeployed.Time
	if until := since.Add(c.getter.Grace); time.Now().Before(until) {
		return nil, fmt.Errorf("release %s is %s since %s, another operator may be working on it; it is taken over after %s",
			name, pending, since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	}
	rel.SetStatus(release.StatusFailed, fmt.Sprintf("was %s when the operator that worked on it ended", pending))
	if err := c.Config().Releases.Update(rel); err != nil {
		return nil, fmt.Errorf("unlock release %s, which is %s: %w", name, pending, err)
	}
	log.FromContext(c.ctx).Info("unlocked a release that an operator left half done",
		"release", name, "revision", rel.Version, "status", pending)
	c.getter.Events.Eventf(c.collector, corev1.EventTypeWarning, "Unlocked",
		"revision %d of the release was left %s by an operator that ended; going on from there", rel.Version, pending)
	return rel, nil
}

// Uninstall removes a release and its objects, unless another operator may be working on it. The reconciler does not
// stop at an error of Get when a Collector is being deleted.
func (c actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	if c.getter.Grace > 0 {
		if _, err := c.Get(name); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return nil, err
		}
	}
	return c.ActionInterface.Uninstall(name, opts...)
}
