package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
)

// write writes manifests to out, and problems only as JSON: in YAML they would be taken for manifests.
func (r *Renderer) write(out io.Writer, manifests []byte, refused error) error {
	if !r.JSON {
		_, err := out.Write(manifests)
		return wrapOutput(err)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if refused != nil {
		return wrapOutput(encoder.Encode(map[string]any{"problems": problemsOf(refused)}))
	}
	items, err := jsonItems(manifests)
	if err != nil {
		return err
	}
	return wrapOutput(encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}))
}

func wrapOutput(err error) error {
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// jsonItems returns each document of a stream of YAML as JSON.
func jsonItems(manifests []byte) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what was rendered: %w", err)
		}
		item, err := yamlutil.ToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("read what was rendered: %w", err)
		}
		if string(item) != "null" {
			items = append(items, item)
		}
	}
}
