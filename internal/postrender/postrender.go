// Package postrender is step 5 of the data flow: between the chart and the release it decodes the Collector's
// configuration into the chart's Secret.
//
// It is a Helm post-renderer. The Renderer is pure: a manifest in, and the hash of a configuration that the manifest only refers to; a
// manifest or one clear error out. The same input always gives the same output. No error carries configuration content.
package postrender

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// ConfigurationAnnotation marks the chart's config Secret. Its value is the configuration's format.
	ConfigurationAnnotation = "kube8.dev/configuration"

	// ConfigHashAnnotation carries the SHA-256 of the decoded configuration, in hex: on the Secret, and on each pod
	// template that mounts it, so that a changed configuration rolls the pods and a re-encoded equal one does not.
	ConfigHashAnnotation = "kube8.dev/config-sha256"
)

// Referenced is a checked configuration that is not in the manifest, but in a Secret of the user that the pods mount.
type Referenced struct {
	// Secret is the name of the Secret.
	Secret string

	// Hash is the SHA-256 of the configuration, in hex.
	Hash string
}

// Renderer decodes, checks and hashes the configuration in a rendered manifest.
type Renderer struct {
	// Referenced is the configuration that the manifest only refers to; the zero value for none.
	Referenced Referenced
}

// Run returns the manifest with the configuration decoded and hashed, and with what users gave in the form in which the
// API server stores it. Objects with neither come out byte for byte as they went in.
func (r Renderer) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	docs, err := split(manifest)
	if err != nil {
		return nil, err
	}

	hashes := map[string]string{} // Secret name to configuration hash
	if r.Referenced.Secret != "" {
		hashes[r.Referenced.Secret] = r.Referenced.Hash
	}
	for _, doc := range docs {
		hash, err := decodeSecret(doc.node)
		if err != nil {
			return nil, err
		}
		if hash != "" {
			hashes[doc.node.GetName()] = hash
			doc.changed = true
		}
	}
	for _, doc := range docs {
		if doc.changed {
			continue
		}
		if doc.changed, err = finish(doc.node, hashes); err != nil {
			return nil, fmt.Errorf("%s %q: %w", doc.node.GetKind(), doc.node.GetName(), err)
		}
	}
	return join(docs)
}

var separator = []byte("---\n")

// document is one object of a manifest: its text, and the same parsed.
type document struct {
	text    []byte
	node    *yaml.RNode
	changed bool
}

func split(manifest io.Reader) ([]*document, error) {
	var docs []*document
	reader := yamlutil.NewYAMLReader(bufio.NewReader(manifest))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read rendered manifest: %w", err)
		}
		text = bytes.TrimPrefix(text, separator) // the reader leaves the first one
		node, err := yaml.Parse(string(text))
		if errors.Is(err, io.EOF) {
			continue // nothing but comments
		}
		if err != nil {
			return nil, fmt.Errorf("rendered object %d is not YAML%s", len(docs)+1, nearLine(err))
		}
		docs = append(docs, &document{text: text, node: node})
	}
}

func join(docs []*document) (*bytes.Buffer, error) {
	out := &bytes.Buffer{}
	for _, doc := range docs {
		text := doc.text
		if doc.changed {
			changed, err := doc.node.String()
			if err != nil {
				return nil, fmt.Errorf("write %s %q: %w", doc.node.GetKind(), doc.node.GetName(), err)
			}
			text = []byte(changed)
		}
		out.Write(separator)
		out.Write(text)
	}
	return out, nil
}

// decodeSecret checks and canonicalises the configuration in node and stamps its hash. It returns the hash, or "" for
// an object that is not a config Secret.
func decodeSecret(node *yaml.RNode) (string, error) {
	format, isConfig := node.GetAnnotations()[ConfigurationAnnotation]
	if !isConfig || node.GetKind() != "Secret" {
		return "", nil
	}

	var hash string
	err := node.PipeE(yaml.Get("data"), yaml.FilterFunc(func(data *yaml.RNode) (*yaml.RNode, error) {
		return nil, data.VisitFields(func(entry *yaml.MapNode) error {
			config, err := decode(entry.Value.YNode().Value, format)
			if err != nil {
				return err
			}
			hash = config.hash
			entry.Value.YNode().SetString(config.canonical)
			return nil
		})
	}))
	if err != nil {
		return "", err
	}
	if hash == "" {
		return "", refuse("empty; set it to the collector's configuration, base64-encoded")
	}
	return hash, node.PipeE(yaml.SetAnnotation(ConfigHashAnnotation, hash))
}
