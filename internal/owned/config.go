package owned

import (
	"context"
	"fmt"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewActionConfigGetter decorates the configurations that next gives: their kube client touches only what is the
// Collector's. cached reads from the informer cache.
func NewActionConfigGetter(next helmclient.ActionConfigGetter, cached client.Reader) helmclient.ActionConfigGetter {
	return configGetter{next: next, cached: cached}
}

type configGetter struct {
	next   helmclient.ActionConfigGetter
	cached client.Reader
}

// ActionConfigFor returns Helm's configuration for one pass over collector.
func (g configGetter) ActionConfigFor(ctx context.Context, collector client.Object) (*action.Configuration, error) {
	config, err := g.next.ActionConfigFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	next, ok := config.KubeClient.(helmClient)
	if !ok {
		return nil, fmt.Errorf("a kube client of type %T cannot do all that Helm's can", config.KubeClient)
	}
	mapper, err := config.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("get the kinds of the cluster: %w", err)
	}
	config.KubeClient = &kubeClient{
		helmClient: next,
		ctx:        ctx,
		lookup:     lookup{cached: g.cached},
		kinds:      mapper,
		collector:  collector,
	}
	return config, nil
}
