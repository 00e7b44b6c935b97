package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// maxIndicators is how many characters a recorded manifest may have that can begin a value. They cannot be told from those in texts before
// all is parsed, so Render refuses what has more.
const maxIndicators = 200000

// hasTooMany tells whether the texts of a manifest have more than maxIndicators.
func hasTooMany(texts ...string) bool {
	length, count := 0, 0
	for _, text := range texts {
		length += len(text)
	}
	if length <= maxIndicators {
		return false
	}
	for _, text := range texts {
		for i := range len(text) {
			if strings.IndexByte("\n,:-[{?", text[i]) >= 0 {
				count++
			}
		}
	}
	return count > maxIndicators
}

// ParseRecorded is Parse for a manifest that anybody can have written who may write Secrets. It expands nothing: no manifest of the
// chart has an alias.
func ParseRecorded(manifest string) (*Rendered, error) {
	if configuration.TagDirective(manifest) > 0 {
		return nil, errors.New("the recorded manifest has the directive %TAG, which the operator does not write")
	}
	if hasTooMany(manifest) {
		return nil, fmt.Errorf("the recorded manifest has more than %d values", maxIndicators)
	}
	if strings.Contains(manifest, "*") {
		decoder := yaml.NewDecoder(strings.NewReader(manifest))
		for {
			var document yaml.Node
			if err := decoder.Decode(&document); err != nil {
				break // the end, or what the next step refuses
			}
			if hasAlias(&document) {
				return nil, errors.New("the recorded manifest has an alias, which the operator does not write")
			}
		}
	}
	return Parse(manifest)
}

func hasAlias(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, hasAlias)
}
