package owned

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"
)

// Build reads the objects of a manifest. It leaves out those of kinds that the cluster does not have: where a CRD was
// removed its objects have gone with it, and the rest of the release must not wait for its return.
func (c *kubeClient) Build(manifest io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(manifest)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	resources, err := c.helmClient.Build(bytes.NewReader(text), validate)
	if err == nil {
		return resources, nil
	}
	known, all, knownErr := c.ofKnownKinds(text)
	if knownErr != nil || all {
		return nil, err
	}
	return c.helmClient.Build(known, validate)
}

// ofKnownKinds returns the documents of a manifest whose kinds the cluster has, and tells whether these are all.
func (c *kubeClient) ofKnownKinds(manifest []byte) (known *bytes.Buffer, all bool, err error) {
	known, all = &bytes.Buffer{}, true
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return known, all, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("read manifest: %w", err)
		}
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, false, fmt.Errorf("read manifest: %w", err)
		}
		kind := object.GroupVersionKind()
		if _, err := c.kinds.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) && !kind.Empty() {
			log.FromContext(c.ctx).Info("left out an object of a kind that the cluster does not have",
				"kind", kind.String(), "name", object.Name)
			all = false
			continue
		}
		known.WriteString("---\n")
		known.Write(text)
	}
}
