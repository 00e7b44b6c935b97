package configuration

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/syntax"
)

// parse reads one YAML document that is a mapping, and checks it. Its errors name the line and never quote the text.
func parse(text string) (*yaml.Node, error) {
	return parseAny(text, yaml.MappingNode)
}

// parseAny parses one YAML document of one of the kinds.
func parseAny(text string, kinds ...yaml.Kind) (*yaml.Node, error) {
	if err := syntax.CheckCharacters(text); err != nil {
		return nil, err
	}
	if line := TagDirective(text); line > 0 {
		return nil, &syntax.Error{Line: line, Reason: "has the directive %TAG, which no collector needs; write its tags out", AnyFormat: true}
	}
	text = versionDirective.ReplaceAllString(text, "${1}1.1")
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("empty when decoded; write a YAML mapping")
	case err != nil:
		return nil, syntax.Explain(text, err)
	}
	root := document.Content[0]
	switch {
	case slices.Contains(kinds, root.Kind):
	case isBase64(root.Value):
		return nil, &syntax.Error{Reason: "base64 once more when decoded; encode the file once", AnyFormat: true}
	default:
		return nil, fmt.Errorf(`line %d is not a YAML mapping; start with a key such as "receivers:"`, root.Line)
	}
	if _, err := (budget{}).check(root); err != nil {
		return nil, explainValue(root, err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, errors.New("more than one YAML document; keep one")
	case !errors.Is(err, io.EOF):
		return nil, syntax.Explain(text, err)
	}
	return root, nil
}

// versionDirective finds the directive of a version of YAML 1. The parser knows only 1.1 by name, and reads 1.2 as well.
var versionDirective = regexp.MustCompile(`(?m)^(\x{FEFF}*%YAML[ \t]+)1\.[0-9]+`)

// tagDirective finds the directive after each of YAML's line breaks. The parser passes over byte order marks.
var tagDirective = regexp.MustCompile(`(?:^|[\n\r\x{85}\x{2028}\x{2029}])\x{FEFF}*%TAG[ \t]`)

// TagDirective returns the line with a directive that gives tags a prefix, or 0. The parser writes the prefix into each value with such a
// tag, so that a short text takes gigabytes.
func TagDirective(text string) int {
	found := tagDirective.FindStringIndex(text)
	if found == nil {
		return 0
	}
	return 1 + strings.Count(text[:found[1]], "\n")
}

// isBase64 tells whether text is the base64 of text, so that a file was most likely encoded twice.
func isBase64(text string) bool {
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return err == nil && len(decoded) > 0 && syntax.CheckCharacters(string(decoded)) == nil
}

// explainValue says why a check refused what the parser read as root.
func explainValue(root *yaml.Node, err error) error {
	if line := lineOf(root, isTemplate); line > 0 {
		return &syntax.Error{Line: line, Reason: syntax.UnquotedTemplate, AnyFormat: true}
	}
	if errors.Is(err, errExpands) {
		line := lineOf(root, func(node *yaml.Node) bool { return node.Kind == yaml.AliasNode })
		return fmt.Errorf("line %d has the first of aliases that expand too far; write out what they stand for", line)
	}
	return err
}

// isTemplate tells whether node is {{ }}: a mapping that is the key of another one.
func isTemplate(node *yaml.Node) bool {
	return node.Kind == yaml.MappingNode && len(node.Content) > 0 && node.Content[0].Kind == yaml.MappingNode
}

// lineOf returns the line of the first node, in the order of the text, that is what is asked for; 0 if there is none.
func lineOf(node *yaml.Node, is func(*yaml.Node) bool) int {
	if is(node) {
		return node.Line
	}
	for _, child := range node.Content {
		if line := lineOf(child, is); line > 0 {
			return line
		}
	}
	return 0
}
