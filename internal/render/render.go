// Package render makes of chart and values the objects that a Collector becomes, and their hash: the chart's templates are executed as
// Helm's engine does, the post-renderer finishes, and the result is parsed once. The operator and the offline check render with the
// same code.
package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// hashLength is how many letters the hash of what was rendered has.
const hashLength = 20

// Rendered is what a Collector becomes.
type Rendered struct {
	// Objects are in the order of the manifest.
	Objects []*unstructured.Unstructured

	// Manifest has the objects as YAML.
	Manifest string

	// Hash tells what was rendered apart from anything else. It leaves out the data of Secrets, whose names tell it apart, so
	// that it can be verified of a recorded manifest.
	Hash string

	texts []string // of Manifest, one for each object, without the data of Secrets
}

// Render renders the chart, has the post-renderer finish the manifest, and parses that. Hooks are an error: nothing would run them. A
// configuration that is refused is a *configuration.Error, and what the values have otherwise a *specpath.FieldsError.
func (c *Chart) Render(
	name types.NamespacedName, values map[string]any, capabilities *helm.Capabilities, finish postrender.Renderer,
) (*Rendered, error) {
	text, err := c.Template(name, values, capabilities)
	if err != nil {
		return nil, err
	}
	documents, err := finish.Finish(text)
	if err != nil {
		return nil, err
	}
	rendered, err := parse(documents)
	if err != nil {
		return nil, err
	}
	for _, object := range rendered.Objects {
		if object.GetAnnotations()[helm.HookAnnotation] != "" {
			return nil, fmt.Errorf("chart %s renders a Helm hook, %s; nothing runs hooks, so remove it", c.Name(), live.ReferenceTo(object))
		}
	}
	if hasTooMany(rendered.texts...) {
		return nil, specpath.Refuse("", fmt.Sprintf("has more than %d line ends and characters , : - [ { ?, so its record could not be read; "+
			"shorten its texts", maxIndicators))
	}
	return rendered, nil
}

// Template checks the configuration in the values, and renders a chart as Helm does for a first release.
func (c *Chart) Template(name types.NamespacedName, values map[string]any, capabilities *helm.Capabilities) (string, error) {
	of, given := c.Chart, values
	isPlain := c.templates != nil && c.Schema == nil // so coalesce does what Helm does by reflection
	if isPlain {
		of, given = &helm.Chart{Metadata: c.Metadata}, nil
	}
	input, err := helm.Input(of, name, given, capabilities)
	if err != nil {
		return "", fmt.Errorf("render chart %s: %w", c.Name(), err)
	}
	if isPlain {
		input["Values"] = c.coalesce(values)
	}
	if coalesced, ok := input["Values"].(helm.Values); ok {
		if err := cmp.Or(checkKeys(coalesced), checkScrapes(coalesced), configuration.Prepare(coalesced)); err != nil {
			return "", err
		}
	}
	files, err := c.files(input)
	if err != nil {
		return "", specpath.ExplainRender(fmt.Errorf("render chart %s: %w", c.Name(), err))
	}
	maps.DeleteFunc(files, func(file, content string) bool {
		return strings.TrimSpace(content) == "" || strings.HasSuffix(file, "NOTES.txt")
	})
	var text strings.Builder
	for _, file := range slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(placeOf(files[a]), placeOf(files[b])), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", file, strings.TrimPrefix(strings.TrimSpace(files[file]), "---\n"))
	}
	return text.String(), nil
}

// files returns what each file of the templates renders to. Helm's engine does what they cannot, and says what is wrong in its own words.
func (c *Chart) files(input helm.Values) (map[string]string, error) {
	if c.templates != nil {
		if files, err := c.templates.render(c.Chart, input); err == nil {
			return files, nil
		}
	}
	return helm.Execute(c.Chart, input)
}

// placeOf returns where the kind of a file's first object is in Helm's order of installing.
func placeOf(content string) int {
	if kind := kindInTemplate.FindStringSubmatch(content); kind != nil {
		if at := slices.Index(helm.Kinds, kind[2]); at >= 0 {
			return at
		}
	}
	return len(helm.Kinds)
}

// Parse reads the objects of a manifest.
func Parse(manifest string) (*Rendered, error) {
	var documents []postrender.Document
	for _, text := range postrender.Split(manifest) {
		documents = append(documents, postrender.Document{Text: text})
	}
	return parse(documents)
}

func parse(documents []postrender.Document) (*Rendered, error) {
	rendered, sum := &Rendered{Manifest: postrender.Join(documents)}, sha256.New()
	for _, document := range documents {
		content, asJSON, err := fromDocument(document)
		if err != nil {
			return nil, fmt.Errorf("rendered object %d is not a Kubernetes object", len(rendered.Objects)+1)
		}
		if len(content) == 0 {
			continue
		}
		object, public := &unstructured.Unstructured{Object: content}, document.Text
		if object.GetKind() == "Secret" {
			content = maps.Clone(content)
			delete(content, "data")
			delete(content, "stringData")
			bare, err := toYAML(content)
			if err != nil {
				return nil, err
			}
			public, asJSON = "# without its data\n"+string(bare), nil
		}
		if asJSON != nil {
			write(sum, asJSON)
		} else if err := withJSON(content, func(text []byte) { write(sum, text) }); err != nil {
			return nil, err
		}
		rendered.Objects, rendered.texts = append(rendered.Objects, object), append(rendered.texts, public)
	}
	rendered.Hash = hex.EncodeToString(sum.Sum(nil))[:hashLength]
	return rendered, nil
}

// ConfigHash returns the SHA-256 of the configuration that the pods mount, in hex, or "".
func (r *Rendered) ConfigHash() string {
	for _, object := range r.Objects {
		if StageOf(object.GetKind()) == Workloads {
			found, _, _ := unstructured.NestedString(object.Object,
				"spec", "template", "metadata", "annotations", postrender.ConfigHashAnnotation)
			return found
		}
	}
	return ""
}

// Public returns the manifest without the data of Secrets. Parse gives it the same hash.
func (r *Rendered) Public() string {
	return strings.Join(append([]string{""}, r.texts...), "---\n")
}
