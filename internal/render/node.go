package render

import (
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var (
	// asText is the style of a scalar that is a text, also if it looks like a number.
	asText = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

	// textFor1And2 finds what is a text without quotation marks in YAML 1.1 and 1.2, unless it is a word of otherYAML. Hashes are
	// such texts. Numbers have no such letters: 0b1 and 1e2 are some.
	textFor1And2 = regexp.MustCompile(`^-{0,2}[/A-Za-z]|^[0-9]+[.][0-9]+[.]` +
		`|^[0-9]+([.][0-9]+)?(e[0-9]*)?[acdf-np-wyzA-DF-NP-WYZ]|^[1-9][0-9]*(e[0-9]*)?b`)
	otherYAML = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)

	// wholeNumber finds those that are the same for both, and for JSON.
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)
)

// fromNode returns what fromYAML makes of a node's text, where it is sure of that. The post-renderer parses YAML 1.2, and Kubernetes
// reads 1.1.
func fromNode(node *yaml.Node) (value any, isSure bool) {
	if node.Style&yaml.TaggedStyle != 0 {
		return nil, false
	}
	switch node.Kind {
	case yaml.MappingNode:
		fields := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, isKnown := fromNode(node.Content[i])
			name, isText := key.(string)
			if fields[name], isSure = fromNode(node.Content[i+1]); !isSure || !isKnown || !isText {
				return nil, false
			}
		}
		return fields, 2*len(fields) == len(node.Content)
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i := range list {
			if list[i], isSure = fromNode(node.Content[i]); !isSure {
				return nil, false
			}
		}
		return list, true
	case yaml.ScalarNode:
		return fromScalar(node)
	default:
		return nil, false
	}
}

func fromScalar(node *yaml.Node) (value any, isSure bool) {
	text, tag := node.Value, node.ShortTag()
	isText := tag == yaml.NodeTagString && textFor1And2.MatchString(text) && !otherYAML.MatchString(text)
	switch {
	case node.Style&asText != 0 || isText:
		return text, isPrintable(text)
	case tag == yaml.NodeTagBool && (text == "true" || text == "false"):
		return text == "true", true
	case tag == yaml.NodeTagInt && wholeNumber.MatchString(text):
		number, err := strconv.ParseFloat(text, 64)
		return number, err == nil
	}
	return nil, strings.TrimSpace(text) == "" && tag == yaml.NodeTagNull
}
