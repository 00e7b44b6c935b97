// Package postrender is step 5 of the data flow: between the chart and the release it decodes the Collector's
// configuration into the chart's Secret.
//
// It is a Helm post-renderer. The Renderer is pure: a manifest in, the hash of a configuration that the manifest only refers
// to, and what runs; a manifest or one clear error out. The same input always gives the same output. No error carries configuration content.
package postrender

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Referenced is a checked configuration that is not in the manifest, but in a Secret of the user that the pods mount.
type Referenced struct {
	// Secret is the name of the Secret.
	Secret string

	// Hash is the SHA-256 of the configuration, in hex.
	Hash string

	// Content is the configuration.
	Content []byte
}

// Renderer decodes, checks and hashes the configuration in a rendered manifest.
type Renderer struct {
	// Referenced is the configuration that the manifest only refers to; the zero value for none.
	Referenced Referenced

	// Running is what Running says of the live workload; empty for none.
	Running string
}

// Run returns the manifest with the configuration decoded and hashed, in a Secret that is named after its content and that
// nobody can change, and with what users gave in the form in which the API server stores it. Objects with neither come out byte for byte as they went in.
func (r Renderer) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	docs, err := split(manifest)
	if err != nil {
		return nil, err
	}

	secrets := map[string]files{} // by the Secret's name
	if r.Referenced.Secret != "" {
		secrets[r.Referenced.Secret] = files{stamps: stamps{ConfigHashAnnotation: r.Referenced.Hash}}
	}
	var own []*document
	for _, doc := range docs {
		decoded, err := decodeSecret(doc.node)
		if err != nil {
			return nil, err
		}
		if decoded != nil {
			secrets[doc.node.GetName()] = *decoded
			doc.changed, own = true, append(own, doc)
		}
	}
	keeps := false
	for _, doc := range docs {
		if doc.changed {
			continue
		}
		doc.changed, err = finish(doc.node, func(template *corev1.PodTemplateSpec) { keeps = mount(template, secrets, r.Running) || keeps })
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", doc.node.GetKind(), doc.node.GetName(), err)
		}
	}
	for _, doc := range own {
		if keeps {
			continue
		}
		if err := rename(doc.node, secrets[doc.node.GetName()].suffix); err != nil {
			return nil, fmt.Errorf("name Secret %q: %w", doc.node.GetName(), err)
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
