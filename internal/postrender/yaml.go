package postrender

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

// orRaw is what to do about a configuration that its collector understands all the same.
const orRaw = "or set format to raw"

// checkYAML demands one YAML document that is a mapping without duplicate keys. Its errors name the line and never quote
// the text.
func checkYAML(text string) error {
	if err := checkCharacters(text); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("empty when decoded; write a YAML mapping, %s", orRaw)
	case err != nil:
		return explainSyntax(text, err)
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode && isBase64(root.Value) {
		return fmt.Errorf("base64 once more when decoded; encode the file once, %s", orRaw)
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d is not a YAML mapping; start with a key such as \"receivers:\", %s", root.Line, orRaw)
	}
	// The decoder checks what the parser leaves: duplicate keys, tags that do not fit, aliases that expand too far.
	var values any
	if err := document.Decode(&values); err != nil {
		return explainValue(root, err)
	}
	if err := decoder.Decode(&document); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one YAML document; keep one, %s", orRaw)
	}
	return nil
}

// checkCharacters demands UTF-8 without control characters.
func checkCharacters(text string) error {
	for at, char := range text {
		reason := ""
		switch {
		case char == 0:
			reason = "has a NUL byte; remove it"
		case char == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError)):
			reason = "is not UTF-8; save the file as UTF-8"
		case unicode.IsControl(char) && !strings.ContainsRune("\t\n\r\u0085", char):
			reason = "has a control character; remove it"
		}
		if reason != "" {
			return fmt.Errorf("line %d %s, %s", lineAt(text, at), reason, orRaw)
		}
	}
	return nil
}

// lineAt returns the number of the line that has the byte of an index.
func lineAt(text string, index int) int { return 1 + strings.Count(text[:index], "\n") }

// isBase64 tells whether text is the base64 of text, so that a file was most likely encoded twice.
func isBase64(text string) bool {
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return err == nil && len(decoded) > 0 && checkCharacters(string(decoded)) == nil
}

var (
	errorLine     = regexp.MustCompile(`\bline (\d+)`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// explainSyntax says why the parser refused text. What the parser says can quote the text.
func explainSyntax(text string, err error) error {
	if found := unknownAnchor.FindStringSubmatch(err.Error()); found != nil {
		line := lineAt(text, max(0, strings.Index(text, "*"+found[1])))
		return fmt.Errorf("line %d has an alias without its anchor; put quotes around a value that starts with *, %s", line, orRaw)
	}
	if strings.Contains(err.Error(), "exceeded max depth") {
		return fmt.Errorf("nested too deep%s; use fewer levels, %s", nearLine(err), orRaw)
	}
	if line, found := templateNear(text, err); found {
		return unquotedTemplate(line)
	}
	return fmt.Errorf("not YAML%s; mend it, %s", nearLine(err), orRaw)
}

// explainValue says why the decoder refused what the parser read as root.
func explainValue(root *yaml.Node, err error) error {
	if line := lineOf(root, isTemplate); line > 0 {
		return unquotedTemplate(line)
	}
	message := err.Error()
	switch {
	case strings.Contains(message, "excessive aliasing"):
		line := lineOf(root, func(node *yaml.Node) bool { return node.Kind == yaml.AliasNode })
		return fmt.Errorf("line %d has the first of aliases that expand too far; write out what they stand for, %s", line, orRaw)
	case strings.Contains(message, "already defined"):
		return fmt.Errorf("duplicate key%s; remove it, %s", nearLine(err), orRaw)
	}
	return fmt.Errorf("value or key of the wrong type%s; mend it, %s", nearLine(err), orRaw)
}

func unquotedTemplate(line int) error {
	return fmt.Errorf("line %d has {{ }} without quotes, which YAML reads as a mapping; put quotes around the value, %s", line, orRaw)
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

// templateNear returns the first line with {{ among the one that a parser's error names and its neighbours, because the
// parser counts some lines from zero, and notices some errors late.
func templateNear(text string, err error) (int, bool) {
	found := errorLine.FindStringSubmatch(err.Error())
	if found == nil {
		return 0, false
	}
	named, _ := strconv.Atoi(found[1])
	lines := strings.Split(text, "\n")
	for line := max(1, named-1); line <= min(named+1, len(lines)); line++ {
		if strings.Contains(lines[line-1], "{{") {
			return line, true
		}
	}
	return 0, false
}

// nearLine is all of a YAML error that may be shown: " near line N", or nothing. The rest of it can quote the input.
// "Near", because the parser counts some lines from zero.
func nearLine(err error) string {
	if found := errorLine.FindStringSubmatch(err.Error()); found != nil {
		return " near line " + found[1]
	}
	return ""
}
