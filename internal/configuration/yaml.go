package configuration

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// parse reads one YAML document that is a mapping, and checks it. Its errors name the line and never quote the text.
func parse(text string) (*yaml.Node, error) {
	root, err := parseAny(text)
	if err == nil && root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf(`line %d is not a YAML mapping; start with a key such as "receivers:"`, root.Line)
	}
	return root, err
}

// parseAny parses one YAML document that is a mapping or a list.
func parseAny(text string) (*yaml.Node, error) {
	if err := checkCharacters(text); err != nil {
		return nil, err
	}
	if line := TagDirective(text); line > 0 {
		return nil, fmt.Errorf("line %d has the directive %%TAG, which no collector needs; write its tags out", line)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("empty when decoded; write a YAML mapping")
	case err != nil:
		return nil, explainSyntax(text, err)
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.MappingNode, root.Kind == yaml.SequenceNode:
	case isBase64(root.Value):
		return nil, errors.New("base64 once more when decoded; encode the file once")
	default:
		return nil, fmt.Errorf(`line %d is not a YAML mapping; start with a key such as "receivers:"`, root.Line)
	}
	if _, err := (budget{}).check(root); err != nil {
		return nil, explainValue(root, err)
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document; keep one")
	}
	return root, nil
}

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

// checkCharacters demands UTF-8 without control characters.
func checkCharacters(text string) error {
	isControl := func(char rune) bool { return unicode.IsControl(char) && !strings.ContainsRune("\t\r\u0085", char) }
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !utf8.ValidString(line):
			return fmt.Errorf("line %d is not UTF-8; save the file as UTF-8", i+1)
		case strings.Contains(line, "\x00"):
			return fmt.Errorf("line %d has a NUL byte; remove it", i+1)
		case strings.ContainsFunc(line, isControl):
			return fmt.Errorf("line %d has a control character; remove it", i+1)
		}
	}
	return nil
}

// isBase64 tells whether text is the base64 of text, so that a file was most likely encoded twice.
func isBase64(text string) bool {
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return err == nil && len(decoded) > 0 && checkCharacters(string(decoded)) == nil
}

var (
	errorLine     = regexp.MustCompile(`\bline (\d+)`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// explainSyntax says why the parser refused text. The parser's own message can quote the text.
func explainSyntax(text string, err error) error {
	if found := unknownAnchor.FindStringSubmatch(err.Error()); found != nil {
		before, _, _ := strings.Cut(text, "*"+found[1])
		return fmt.Errorf("line %d has an alias without its anchor; put quotes around a value that starts with *",
			1+strings.Count(before, "\n"))
	}
	if strings.Contains(err.Error(), "exceeded max depth") {
		return fmt.Errorf("nested too deep%s; use fewer levels", nearLine(err))
	}
	if found := errorLine.FindStringSubmatch(err.Error()); found != nil {
		// The parser counts some lines from zero, and notices some errors late.
		named, _ := strconv.Atoi(found[1])
		for i, line := range strings.Split(text, "\n") {
			if number := i + 1; named-1 <= number && number <= named+1 && strings.Contains(line, "{{") {
				return unquotedTemplate(number)
			}
		}
	}
	return fmt.Errorf("not YAML%s; correct it", nearLine(err))
}

// explainValue says why a check refused what the parser read as root.
func explainValue(root *yaml.Node, err error) error {
	if line := lineOf(root, isTemplate); line > 0 {
		return unquotedTemplate(line)
	}
	if errors.Is(err, errExpands) {
		line := lineOf(root, func(node *yaml.Node) bool { return node.Kind == yaml.AliasNode })
		return fmt.Errorf("line %d has the first of aliases that expand too far; write out what they stand for", line)
	}
	return err
}

func unquotedTemplate(line int) error {
	return fmt.Errorf("line %d has {{ }} without quotes, which YAML reads as a mapping; put quotes around the value", line)
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

// nearLine is all of a YAML error that may be shown: " near line N", or nothing. The rest of it can quote the input.
// "Near", because the parser counts some lines from zero.
func nearLine(err error) string {
	if found := errorLine.FindStringSubmatch(err.Error()); found != nil {
		return " near line " + found[1]
	}
	return ""
}
