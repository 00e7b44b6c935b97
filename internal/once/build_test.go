package once

import (
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

const manifest1 = `
# Source: collector/templates/service.yaml
apiVersion: v1
kind: Service
metadata: {name: gateway}
spec: {ports: [{port: 4317}]}
---
# Nothing in it.
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: acme}
`

func newKubeClient() *kubeClient {
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, meta.RESTScopeNamespace)
	kinds.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	return &kubeClient{
		Client:     &kube.Client{Namespace: "acme"},
		kinds:      kinds,
		config:     &rest.Config{ContentConfig: resource.UnstructuredPlusDefaultContentConfig()},
		httpClient: &http.Client{},
		clients:    map[schema.GroupVersion]resource.RESTClient{},
		built:      map[string]kube.ResourceList{},
	}
}

func TestTheSameManifestIsParsedOnce(t *testing.T) {
	c := newKubeClient()
	for range 2 {
		// A second parsing would ask for the kinds, and then Helm.
		resources, err := c.Build(strings.NewReader(manifest1), false)
		if err != nil {
			t.Fatal(err)
		}
		c.kinds = meta.MultiRESTMapper{}
		if len(resources) != 2 {
			t.Fatalf("%d objects", len(resources))
		}
		service, deployment := resources[0], resources[1]
		if service.Mapping.Resource.Resource != "services" || service.Namespace != "acme" || service.Name != "gateway" ||
			deployment.Mapping.Resource.Resource != "deployments" || deployment.Client == service.Client {
			t.Errorf("got %+v and %+v", service, deployment)
		}
		object := service.Object.(*unstructured.Unstructured)
		if object.GetNamespace() != "acme" || object.GetUID() != "" {
			t.Errorf("the object is %v", object)
		}
		object.SetUID("changed by Helm")
	}
}

func TestWhatIsNotPlainIsLeftToHelm(t *testing.T) {
	for name, manifest := range map[string]string{
		"a list":                                   "apiVersion: v1\nkind: List\nitems: []\n",
		"a kind that the cluster does not have":    "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: gateway}\n",
		"something that is no object":              "just text\n",
		"something that is no YAML":                "a: [\n",
		"an object without a kind, among the rest": manifest1 + "---\nmetadata: {name: gateway}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if resources, err := newKubeClient().build([]byte(manifest)); err == nil {
				t.Errorf("got %d objects", len(resources))
			}
		})
	}
}
