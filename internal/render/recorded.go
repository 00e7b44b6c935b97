package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// maxIndicators is how many characters a recorded manifest may have that can begin a value. A spec of the largest size has a
// third of them.
const maxIndicators = 200000

// ParseRecorded is Parse for a manifest that anybody can have written who may write Secrets. It expands nothing: no manifest of the
// chart has an alias.
func ParseRecorded(manifest string) (*Rendered, error) {
	if configuration.TagDirective(manifest) > 0 {
		return nil, errors.New("the recorded manifest has the directive %TAG, which the operator does not write")
	}
	indicators := 0
	for i := range len(manifest) {
		if strings.IndexByte("\n,:-[{?", manifest[i]) >= 0 {
			indicators++
		}
	}
	if indicators > maxIndicators {
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
