package once

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Build reads the objects of a manifest, of the same one only once.
func (c *kubeClient) Build(manifest io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(manifest)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if validate {
		return c.Client.Build(bytes.NewReader(text), validate)
	}
	resources, known := c.built[string(text)]
	if !known {
		if resources, err = c.build(text); err != nil {
			// What is not plain, Helm reads, or says what is wrong with it.
			return c.Client.Build(bytes.NewReader(text), validate)
		}
		c.built[string(text)] = resources
	}
	return CopyOf(resources), nil
}

// build reads a manifest of one object a document, as Helm does (k8s.io/cli-runtime/pkg/resource, mapper.go), which makes
// a client for each of them.
func (c *kubeClient) build(manifest []byte) (resources kube.ResourceList, err error) {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return resources, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		converted, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		if string(converted) == "null" { // only comments
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(converted); err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		if object.IsList() {
			return nil, errors.New("read manifest: a list")
		}
		info, err := c.infoOf(object)
		if err != nil {
			return nil, err
		}
		resources.Append(info)
	}
}

func (c *kubeClient) infoOf(object *unstructured.Unstructured) (*resource.Info, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of kind %s: %w", kind, err)
	}
	client, err := c.clientFor(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(c.Namespace)
	}
	return &resource.Info{
		Client: client, Mapping: mapping, Namespace: object.GetNamespace(), Name: object.GetName(),
		ResourceVersion: object.GetResourceVersion(), Object: object,
	}, nil
}

func (c *kubeClient) clientFor(version schema.GroupVersion) (resource.RESTClient, error) {
	if client, made := c.clients[version]; made {
		return client, nil
	}
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(config, c.httpClient)
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", version, err)
	}
	c.clients[version] = client
	return client, nil
}

// CopyOf returns copies of resources as they are now: Helm changes what it is given, such as by putting in place of what
// is wanted what the API server made of it.
func CopyOf(resources kube.ResourceList) kube.ResourceList {
	copies := make(kube.ResourceList, 0, len(resources))
	for _, info := range resources {
		copied := *info
		copied.Object = info.Object.DeepCopyObject()
		copies.Append(&copied)
	}
	return copies
}
