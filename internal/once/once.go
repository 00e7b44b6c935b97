// Package once has Helm ask the API server, and work out, each thing once in a pass.
//
// It decorates what the stock reconciler gives to Helm for one pass over one Collector: the kube client
// (NewActionConfigGetter) and the storage of releases (NewDriver). Helm asks whether the API server is there before each
// action, reads the same release and the same missing object again and again, and parses the same manifest for each
// step. None of that can change what it does next, but it is most of what a pass costs. It also waits for each object
// before it creates the next one.
package once

import (
	"context"
	"fmt"
	"net/http"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewActionConfigGetter decorates the configurations that next gives: their kube client does nothing twice in a pass. It
// talks to the API server through httpClient. cached reads from the informer cache.
func NewActionConfigGetter(
	next helmclient.ActionConfigGetter, httpClient *http.Client, cached client.Reader,
) helmclient.ActionConfigGetter {
	return configGetter{next: next, httpClient: httpClient, cached: cached}
}

type configGetter struct {
	next       helmclient.ActionConfigGetter
	httpClient *http.Client
	cached     client.Reader
}

// ActionConfigFor returns Helm's configuration for one pass over collector.
func (g configGetter) ActionConfigFor(ctx context.Context, collector client.Object) (*action.Configuration, error) {
	config, err := g.next.ActionConfigFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	helms, ok := config.KubeClient.(*kube.Client)
	if !ok {
		return nil, fmt.Errorf("a kube client of type %T cannot be decorated, only Helm's", config.KubeClient)
	}
	mapper, err := config.RESTClientGetter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("get the kinds of the cluster: %w", err)
	}
	restConfig, err := config.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("get the address of the API server: %w", err)
	}
	restConfig.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	httpClient := *g.httpClient
	httpClient.Transport = &remembering{next: g.httpClient.Transport, missing: map[string][]byte{}}
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a Collector of type %T cannot be read, only an unstructured one", collector)
	}
	config.KubeClient = &kubeClient{
		Client:     helms,
		collector:  parsed,
		ctx:        ctx,
		cached:     g.cached,
		kinds:      mapper,
		config:     restConfig,
		httpClient: &httpClient,
		clients:    map[schema.GroupVersion]resource.RESTClient{},
		built:      map[string]kube.ResourceList{},
	}
	return config, nil
}

// kubeClient is Helm's kube client for one pass over one Collector.
type kubeClient struct {
	*kube.Client
	ctx        context.Context //nolint:containedctx // of that pass; the interface has no room for it
	cached     client.Reader
	collector  *unstructured.Unstructured
	kinds      meta.RESTMapper
	config     *rest.Config
	httpClient *http.Client

	clients map[schema.GroupVersion]resource.RESTClient
	built   map[string]kube.ResourceList // by manifest
}

// IsReachable does not ask: the request that follows finds it out.
func (c *kubeClient) IsReachable() error { return nil }
