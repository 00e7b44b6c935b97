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

	secrets := map[string]stamps{} // by the Secret's name
	if r.Referenced.Secret != "" {
		secrets[r.Referenced.Secret] = stamps{ConfigHashAnnotation: r.Referenced.Hash}
	}
	for _, doc := range docs {
		stamped, err := decodeSecret(doc.node)
		if err != nil {
			return nil, err
		}
		if stamped != nil {
			secrets[doc.node.GetName()] = stamped
			doc.changed = true
		}
	}
	for _, doc := range docs {
		if doc.changed {
			continue
		}
		if doc.changed, err = finish(doc.node, secrets); err != nil {
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
