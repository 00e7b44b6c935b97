package configuration

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// maxExpanded is how many bytes the keys and values of a configuration may have when each alias is written out.
	maxExpanded = 1 << 20

	// maxDepth is how many mappings and lists may be in each other, by aliases too.
	maxDepth = 100
)

var errExpands = errors.New("aliases expand too far")

// extent is how large a node is with its aliases written out.
type extent struct{ bytes, depth int }

// budget has the extent of each node with an anchor, as soon as that is known. A check takes linear time, however far aliases expand:
// nothing is expanded.
type budget map[*yaml.Node]extent

// check demands of a node what the parser leaves open: extents within the limits, no key twice, and tags that fit. It does what the
// library's decoder does, which compares each key of a mapping with each other one.
func (b budget) check(node *yaml.Node) (extent, error) {
	if node.Kind == yaml.AliasNode {
		whole, isKnown := b[node.Alias]
		if !isKnown { // it is part of what it stands for
			return extent{}, errExpands
		}
		return whole, nil
	}
	if node.Kind == yaml.MappingNode {
		if err := checkKeys(node); err != nil {
			return extent{}, err
		}
	}
	if err := checkTag(node); err != nil {
		return extent{}, err
	}
	whole := extent{bytes: 1 + len(node.Value)}
	for _, child := range node.Content {
		part, err := b.check(child)
		if err != nil {
			return extent{}, err
		}
		whole.bytes += part.bytes
		whole.depth = max(whole.depth, part.depth+1)
		switch {
		case whole.bytes > maxExpanded:
			return extent{}, errExpands
		case whole.depth > maxDepth:
			return extent{}, fmt.Errorf("nested too deep near line %d; use fewer levels", child.Line)
		}
	}
	if node.Anchor != "" {
		b[node] = whole
	}
	return whole, nil
}

// checkKeys demands that each key of a mapping is a scalar and there once, and that what is merged into it are mappings.
func checkKeys(mapping *yaml.Node) error {
	known := map[string]bool{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if resolve(key).Kind != yaml.ScalarNode {
			return wrongType(key)
		}
		if known[resolve(key).Value] {
			return fmt.Errorf("duplicate key near line %d; remove it", key.Line)
		}
		known[resolve(key).Value] = true
		if isMerge(key) {
			for _, merged := range mergedBy(mapping.Content[i+1]) {
				if resolve(merged).Kind != yaml.MappingNode {
					return wrongType(merged)
				}
			}
		}
	}
	return nil
}

func isMerge(key *yaml.Node) bool { return key.ShortTag() == "!!merge" }

// mergedBy returns what the value of a merge key names: one mapping, or a list of them.
func mergedBy(value *yaml.Node) []*yaml.Node {
	if value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}

// checkTag demands that a scalar is what its tag says. Tags of a collector's own can be anything.
func checkTag(node *yaml.Node) error {
	var value any
	if node.Kind == yaml.ScalarNode && node.Style&yaml.TaggedStyle != 0 && node.Decode(&value) != nil {
		return wrongType(node)
	}
	return nil
}

func wrongType(node *yaml.Node) error {
	return fmt.Errorf("value or key of the wrong type near line %d; correct it", node.Line)
}
