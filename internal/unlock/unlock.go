// Package unlock lets a release go on that an operator left half done.
//
// It decorates the stock action client's Get, with which each pass over a Collector begins. Helm refuses to upgrade a
// release that is pending, because somebody else may be working on it. Where nobody can be, the release is marked as
// failed at once, and the reconciler then upgrades it: this operator has left it so itself, or it was pending before
// this operator began to lead. Any other is left for a while to the operator that may be working on it. With leader
// election there should be none, but an operator that hung while another took the lead goes on for 10 s before it
// notices.
package unlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// operatorLabel is on the Secrets of releases, and says which operator made the revision. The answer to a request that
// stores one can be lost, so an operator cannot remember all that it has made.
const operatorLabel = "kube8.dev/operator"

// Grace is how long a release is left to another operator that may be working on it. It is the time that Helm gives an
// operation.
const Grace = 5 * time.Minute

// Getter gives action clients that unlock releases.
type Getter struct {
	// Next gives the clients that are decorated.
	Next helmclient.ActionClientGetter

	// LeaderElection says that this operator works only while it leads.
	LeaderElection bool

	// Events takes the event Unlocked.
	Events record.EventRecorder

	// Operator tells this operator apart from any other, such as the one before a restart. It is a label's value.
	Operator string

	mutex sync.Mutex
	began time.Time // the first pass, and so after the Lease was obtained
}

// ActionClientFor returns the action client of one pass over collector.
func (g *Getter) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	g.mutex.Lock()
	if g.began.IsZero() {
		g.began = time.Now()
	}
	g.mutex.Unlock()
	actions, err := g.Next.ActionClientFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	return actionClient{ActionInterface: actions, getter: g, ctx: ctx, collector: collector}, nil
}

// isLeft tells whether nobody can be working on a pending revision.
func (g *Getter) isLeft(rel *release.Release) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	made := rel.Info.LastDeployed.Time
	return rel.Labels[operatorLabel] == g.Operator || g.LeaderElection && made.Before(g.began) || time.Since(made) >= Grace
}

type actionClient struct {
	helmclient.ActionInterface
	getter    *Getter
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
	pending, made := rel.Info.Status, rel.Info.LastDeployed.Time
	if !c.getter.isLeft(rel) {
		return nil, fmt.Errorf("release %s is %s since %s, another operator may be working on it; it is taken over after %s",
			name, pending, made.UTC().Format(time.RFC3339), made.Add(Grace).UTC().Format(time.RFC3339))
	}
	rel.SetStatus(release.StatusFailed, fmt.Sprintf("was %s when the operator that worked on it ended", pending))
	if err := c.Config().Releases.Update(rel); err != nil {
		return nil, fmt.Errorf("unlock release %s, which is %s: %w", name, pending, err)
	}
	log.FromContext(c.ctx).Info("unlocked a release that an operator left half done",
		"release", name, "revision", rel.Version, "status", pending)
	c.getter.Events.Eventf(c.collector, corev1.EventTypeWarning, "Unlocked",
		"revision %d of the release was left %s; going on from there", rel.Version, pending)
	return rel, nil
}

// Upgrade upgrades a release.
func (c actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	return c.ActionInterface.Upgrade(name, namespace, chrt, vals, append(opts, func(upgrade *action.Upgrade) error {
		upgrade.Labels = map[string]string{operatorLabel: c.getter.Operator}
		return nil
	})...)
}

// Uninstall removes a release and its objects, unless another operator may be working on it: the reconciler does not
// stop at an error of Get when a Collector is being deleted.
func (c actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	if _, err := c.Get(name); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, err
	}
	return c.ActionInterface.Uninstall(name, opts...)
}
