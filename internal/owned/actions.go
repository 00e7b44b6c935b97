package owned

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewActionClientGetter decorates the clients that next gives, which must have been made with NewActionConfigGetter: a
// conflict is found before anything is written, dry runs included, and comes out without what Helm says around it.
func NewActionClientGetter(next helmclient.ActionClientGetter) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			return nil, err
		}
		kube, ok := actions.Config().KubeClient.(*kubeClient)
		if !ok {
			return nil, fmt.Errorf("the kube client is a %T, and does not look for owners", actions.Config().KubeClient)
		}
		return actionClient{ActionInterface: actions, kube: kube}, nil
	})
}

type actionClient struct {
	helmclient.ActionInterface
	kube *kubeClient
}

// Get returns the latest revision of the Collector's release.
func (c actionClient) Get(name string, opts ...helmclient.GetOption) (*release.Release, error) {
	rel, err := c.ActionInterface.Get(name, opts...)
	return rel, plain(err)
}

// Install installs a release, if nobody else has objects of these names.
func (c actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Install(name, namespace, chrt, vals, append(opts, func(install *action.Install) error {
		install.TakeOwnership = true // of what was found to be the Collector's
		install.PostRenderer = verifier{next: install.PostRenderer, kube: c.kube}
		return nil
	})...)
	return rel, plain(err)
}

// Upgrade upgrades a release, if nobody else has objects of these names.
func (c actionClient) Upgrade(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.UpgradeOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Upgrade(name, namespace, chrt, vals, append(opts, func(upgrade *action.Upgrade) error {
		upgrade.TakeOwnership = true // of what was found to be the Collector's
		upgrade.PostRenderer = verifier{next: upgrade.PostRenderer, kube: c.kube}
		return nil
	})...)
	return rel, plain(err)
}

// Uninstall uninstalls a release, and says why that failed, which Helm does not.
func (c actionClient) Uninstall(name string, opts ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	response, err := c.ActionInterface.Uninstall(name, opts...)
	if err != nil && c.kube.uninstall != nil {
		return response, c.kube.uninstall
	}
	return response, err
}

// Reconcile brings a release's objects back to what they should be, if none of them is somebody else's.
func (c actionClient) Reconcile(rel *release.Release) error {
	resources, err := c.kube.Build(strings.NewReader(rel.Manifest), false)
	if err != nil {
		return err
	}
	if err := c.kube.verify(resources); err != nil {
		return err
	}
	return c.ActionInterface.Reconcile(rel)
}

// plain returns the conflict that err wraps, or else err.
func plain(err error) error {
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		return conflict
	}
	return err
}

// verifier is a post-renderer: the one point between the rendering of a release and the storing of it.
type verifier struct {
	next postrender.PostRenderer
	kube *kubeClient
}

// Run returns what next makes of the manifest, if none of its objects is somebody else's.
func (v verifier) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	manifest, err := v.next.Run(rendered)
	if err != nil {
		return nil, err
	}
	resources, err := v.kube.Build(bytes.NewReader(manifest.Bytes()), false)
	if err != nil {
		return nil, err
	}
	return manifest, v.kube.verify(resources)
}
