// Package leftover removes what revisions of a release left behind that were never finished.
//
// It decorates the stock action client's Upgrade. Helm compares a new revision with the one that is deployed, and
// forgets the revisions between the two: what one of them created or set, before it failed or before its operator
// ended, would stay for ever if the new revision does not have it. The decorated Upgrade makes the way from each of them
// to the new revision too, and keeps one of each kind in the history until a revision is deployed.
package leftover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/once"
)

// maxHistory is how many revisions are kept, at most, while different ones fail one after the other. What only an older
// one left behind then stays until the Collector goes.
const maxHistory = 100

// Getter gives action clients whose upgrades remove what unfinished revisions left behind.
type Getter struct {
	// Next gives the clients that are decorated.
	Next helmclient.ActionClientGetter
}

// ActionClientFor returns the action client of one pass over collector.
func (g Getter) ActionClientFor(ctx context.Context, collector client.Object) (helmclient.ActionInterface, error) {
	actions, err := g.Next.ActionClientFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	return actionClient{actions}, nil
}

type actionClient struct{ helmclient.ActionInterface }

// Upgrade upgrades a release.
func (c actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	config := c.Config()
	next := config.KubeClient
	defer func() { config.KubeClient = next }()
	// As the last option, it knows what the others have said.
	return c.ActionInterface.Upgrade(name, namespace, chrt, vals, append(opts, func(upgrade *action.Upgrade) error {
		if upgrade.DryRun {
			return nil
		}
		manifests, repeated, err := unfinished(config.Releases, name)
		if err != nil {
			return err
		}
		for _, revision := range repeated {
			if _, err := config.Releases.Delete(name, revision); err != nil {
				return fmt.Errorf("forget revision %d of release %s, which a later one repeats: %w", revision, name, err)
			}
		}
		config.KubeClient = kubeClient{Interface: next, unfinished: manifests}
		if len(manifests) > 1 && upgrade.MaxHistory > 0 {
			upgrade.MaxHistory = max(upgrade.MaxHistory, maxHistory)
		}
		return nil
	})...)
}

// unfinished returns the manifests of the revisions that came after the deployed one, each once and the newest first, and
// the numbers of those revisions whose manifest a later one has too.
func unfinished(releases *storage.Storage, name string) (manifests []string, repeated []int, err error) {
	history, err := releases.History(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the history of release %s: %w", name, err)
	}
	releaseutil.SortByRevision(history)
	for _, revision := range slices.Backward(history) {
		if revision.Info.Status == release.StatusDeployed {
			break
		}
		if slices.Contains(manifests, revision.Manifest) {
			repeated = append(repeated, revision.Version)
		} else {
			manifests = append(manifests, revision.Manifest)
		}
	}
	return manifests, repeated, nil
}

// kubeClient is Helm's kube client for one upgrade.
type kubeClient struct {
	kube.Interface
	unfinished []string
}

// Update makes the cluster's objects what target says: those of original, and those of the unfinished revisions.
func (c kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	for _, manifest := range c.unfinished {
		left, err := c.Build(strings.NewReader(manifest), false)
		if err != nil {
			return &kube.Result{}, fmt.Errorf("read the manifest of an unfinished revision: %w", err)
		}
		for _, info := range original {
			if !left.Contains(info) {
				left.Append(info)
			}
		}
		if result, err := c.Interface.Update(left, once.CopyOf(target), force); err != nil {
			return result, err
		}
	}
	return c.Interface.Update(original, target, force)
}
