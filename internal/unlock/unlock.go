// Package unlock lets a release go on that an operator left half done.
//
// It decorates the stock action client's Get, with which each pass over a Collector begins. Helm refuses to upgrade a
// release that is pending, because somebody else may be working on it. Here nobody is: one operator at a time is active,
// and it makes one pass over a Collector at a time. So a release that is pending when a pass begins was left by an
// operator that has ended, and is marked as failed; the reconciler then upgrades it.
package unlock

import (
	"context"
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// NewActionClientGetter decorates the clients that next gives.
func NewActionClientGetter(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			return nil, err
		}
		return actionClient{ActionInterface: actions, ctx: ctx}, nil
	})
}

type actionClient struct {
	helmclient.ActionInterface
	ctx context.Context //nolint:containedctx // of that pass; the interface has no room for it
}

// Get returns the latest revision of a release, marked as failed if it was pending.
func (c actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	rel, err := c.ActionInterface.Get(name, opts...)
	if err != nil || !rel.Info.Status.IsPending() {
		return rel, err
	}
	pending := rel.Info.Status
	rel.SetStatus(release.StatusFailed, fmt.Sprintf("was %s when the operator that worked on it ended", pending))
	if err := c.Config().Releases.Update(rel); err != nil {
		return nil, fmt.Errorf("unlock release %s, which is %s: %w", name, pending, err)
	}
	log.FromContext(c.ctx).Info("unlocked a release that an operator left half done",
		"release", name, "revision", rel.Version, "status", pending)
	return rel, nil
}
