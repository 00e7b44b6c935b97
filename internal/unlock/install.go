package unlock

import (
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// Install installs a release. It is an error if the release stays pending: Helm takes an install for done even if the
// API server did not let it note that, and without a further pass the release would be locked until the Collector
// changes.
func (c actionClient) Install(
	name, namespace string, chrt *chart.Chart, vals map[string]any, opts ...helmclient.InstallOption,
) (*release.Release, error) {
	rel, err := c.ActionInterface.Install(name, namespace, chrt, vals, append(opts, func(install *action.Install) error {
		install.Labels = map[string]string{operatorLabel: c.getter.Operator}
		return nil
	})...)
	if err != nil {
		return rel, err
	}
	stored, err := c.Config().Releases.Get(rel.Name, rel.Version)
	if err != nil {
		return rel, fmt.Errorf("read release %s, which was installed: %w", rel.Name, err)
	}
	if stored.Info.Status != rel.Info.Status {
		return rel, fmt.Errorf("release %s is %s, but could not be stored so: it is %s there; trying again",
			rel.Name, rel.Info.Status, stored.Info.Status)
	}
	return rel, nil
}
