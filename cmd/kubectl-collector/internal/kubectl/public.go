package kubectl

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/redact"
)

// differenceOf returns what differs between two specs, without what may be confidential, or "".
func differenceOf(fromName, toName string, from, to map[string]any) (string, error) {
	before, err := describe(nil, from)
	if err != nil {
		return "", err
	}
	after, err := describe(from, to)
	if err != nil {
		return "", err
	}
	return unified(fromName, before, toName, after)
}

// describe returns a spec as YAML, without what may be confidential and with a hash in place of each configuration. before is what it
// was, or nil.
func describe(before, spec map[string]any) (string, error) {
	if spec == nil {
		return "", nil
	}
	public := redact.Since(before, spec)
	if collector, ok := spec["collector"].(map[string]any); ok {
		shown, _ := public["collector"].(map[string]any)
		if text, ok := collector["configurationText"].(string); ok {
			shown["configurationText"] = standIn([]byte(text))
		}
		stand(shown, collector, "configuration")
		files, _ := collector["files"].(map[string]any)
		shownFiles, _ := shown["files"].(map[string]any)
		for name := range files {
			stand(shownFiles, files, name)
		}
	}
	text, err := yaml.Marshal(public)
	if err != nil {
		return "", fmt.Errorf("write the spec: %w", err)
	}
	return string(text), nil
}

// stand puts a hash in place of a file.
func stand(shown, fields map[string]any, name string) {
	if encoded, ok := fields[name].(string); ok {
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			content = []byte(encoded)
		}
		shown[name] = standIn(content)
	}
}

func standIn(content []byte) string {
	return fmt.Sprintf("(%d bytes, SHA-256 %s…)", len(content), short(hashOf(content)))
}

// differenceOfObjects returns what differs between the objects that two Collectors become, without what may be confidential, or "".
func differenceOfObjects(name string, from, to []*unstructured.Unstructured) (string, error) {
	write := func(before, objects []*unstructured.Unstructured) (string, error) {
		var all strings.Builder
		for _, object := range objects {
			var was map[string]any
			if at := slices.IndexFunc(before, func(other *unstructured.Unstructured) bool {
				return other.GroupVersionKind() == object.GroupVersionKind() && other.GetName() == object.GetName()
			}); at >= 0 {
				was = before[at].Object
			}
			text, err := yaml.Marshal(redact.Since(was, object.Object))
			if err != nil {
				return "", fmt.Errorf("write an object: %w", err)
			}
			all.WriteString("---\n" + string(text))
		}
		return all.String(), nil
	}
	before, err := write(nil, from)
	if err != nil {
		return "", err
	}
	after, err := write(from, to)
	if err != nil {
		return "", err
	}
	return unified(name, before, name+" (planned)", after)
}
