// Package syntax says why a text is not YAML: by line, column and reason, never by its content.
package syntax

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Error says where a text cannot be read, and why. It has no content of the text.
type Error struct {
	// Line and Column count from 1. They are 0 if they are not known.
	Line, Column int

	// Reason follows the place, as in "line 2 has a tab".
	Reason string

	// AnyFormat tells that the text is wrong in any language.
	AnyFormat bool
}

// Error names the place, the fault and the fix.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Reason
	case e.Column == 0:
		return fmt.Sprintf("line %d %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %d %s", e.Line, e.Column, e.Reason)
}

// Check returns what keeps a text with any number of YAML documents from being read, or nil.
func Check(text string) error {
	if err := CheckCharacters(text); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		switch err := decoder.Decode(&yaml.Node{}); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return Explain(text, err)
		}
	}
}

// UnquotedTemplate is the reason of a template as a value.
const UnquotedTemplate = "has {{ }} without quotes, which YAML reads as a mapping; put quotes around the value"

const (
	statement        = "has a statement of a template, which the operator does not run; write the text that it makes"
	conflict         = "has a mark of a merge conflict; resolve the conflict"
	notATag          = "has a value that starts with !, and that is no tag of YAML; put quotes around the value"
	unquotedVariable = "has a variable, ${ }, in a list or mapping on one line; put quotes around it"
)

// faults are what the parser says, and what it means. The parser's own words have no content, but few people know them.
var faults = []struct{ says, means string }{
	{"tab character", "has a tab, and YAML is indented by spaces; replace it"},
	{"cannot start any token", "has a value that starts with a character that YAML reserves, such as @, ` or %; put quotes around the value"},
	{"expected ',' or", "has a [ or { that is not closed, or a value in it that needs quotes; close it, or put quotes around the value"},
	{"unexpected end of stream", "has a quote that is not closed; close it"},
	{"unexpected document indicator", "has a quote that is not closed; close it"},
	{
		"mapping values are not allowed",
		"has a second colon in a value, or a wrong indentation; put quotes around the value, or correct the indentation",
	},
	{"block sequence entries are not allowed", "has a - where a value begins; begin the list on a line of its own"},
	{"expected key", "does not go on with the lines before it; correct its indentation, its quotes or brackets"},
	{"expected '-' indicator", "is beside the items of a list, and has no -; correct its indentation"},
	{"could not find expected ':'", "is a key without a colon, or text that needs an indentation; correct it"},
	{"unknown escape character", "has a backslash in double quotes that YAML does not know; use single quotes"},
	{"alphabetic or numeric character", "has a value that starts with * or &; put quotes around the value"},
	{"tag", notATag},
	{"expected '>'", notATag},
	{"URI escaped octet", notATag},
	{"hexdecimal number", "has an escape in double quotes that YAML does not know; use single quotes"},
	{"character escape code", "has an escape in double quotes that YAML does not know; use single quotes"},
	{"indentation indicator", "has a 0 after | or >; remove it"},
	{"control characters", "has a character that YAML does not allow; remove it"},
	{"expected comment or line break", "has text after | or >; begin the text on the next line"},
	{"expected node content", "has a bracket or a comma where a value belongs; correct it"},
	{"<document start>", "has text after the end of a document; remove it"},
}

var (
	errorLine = regexp.MustCompile(`\bline (\d+)`)

	// opened are faults of what begins at the line that the parser names.
	opened = regexp.MustCompile(`expected ',' or|found unexpected|could not find expected ':'`)
)

// Explain says why the parser refused text, by the error of go.yaml.in/yaml/v3.
func Explain(text string, err error) error {
	says := err.Error()
	if strings.Contains(says, "unknown anchor") {
		return &Error{Line: lineOfFault(text, says), Reason: "has an alias without its anchor; put quotes around a value that starts with *"}
	}
	if line := lineOfDirective(text, says); line > 0 {
		return &Error{Line: line, Reason: "has a directive, which starts with %, that YAML does not know or that no line --- follows; remove it",
			AnyFormat: true}
	}
	lines := strings.Split(text, "\n")
	if strings.Contains(says, "expected node content") { // also where a text ends too early
		if longer := text + "\n x"; strings.Contains(refusal(strings.NewReader(longer)), "expected ',' or") {
			text, says = longer, "expected ',' or"
		}
	}
	line, isOpen := min(lineOfFault(text, says), len(lines)), strings.Contains(says, "expected ',' or")
	if strings.Contains(says, "exceeded max depth") {
		return &Error{Line: line, Reason: "is nested too deep; use fewer levels"}
	}
	here := lines[line-1]
	if err := templateNear(lines, line); err != nil {
		return err
	}
	if before, _, hasVariable := strings.Cut(unquoted(here), "${"); hasVariable && isOpen {
		return &Error{Line: line, Column: 1 + utf8.RuneCountInString(before), Reason: unquotedVariable, AnyFormat: true}
	}
	isTab := func(r rune) bool { return r == '\t' }
	if indent := here[:len(here)-len(strings.TrimLeft(here, " \t-"))]; strings.Contains(indent, "\t") && !isOpen { // JSON may have tabs
		return &Error{Line: line, Column: columnOf(here, isTab), Reason: faults[0].means}
	}
	for _, fault := range faults {
		if strings.Contains(says, fault.says) {
			return &Error{Line: line, Reason: fault.means}
		}
	}
	return &Error{Line: line, Reason: "is not YAML; correct it"}
}

// templateNear returns an error about a template in or beside a line: the parser notices some late. It is nil if there is none.
func templateNear(lines []string, line int) error {
	for _, number := range []int{line, line - 1, line + 1} {
		if number < 1 || number > len(lines) {
			continue
		}
		switch near := strings.TrimSpace(unquoted(lines[number-1])); {
		case strings.HasPrefix(near, "{{"), strings.Contains(near, "{%"), strings.Contains(near, "<%"):
			return &Error{Line: number, Reason: statement, AnyFormat: true}
		case strings.HasPrefix(near, "<<<<<<< "), strings.HasPrefix(near, ">>>>>>> "):
			return &Error{Line: number, Reason: conflict, AnyFormat: true}
		case strings.Contains(near, "{{"):
			return &Error{Line: number, Reason: UnquotedTemplate, AnyFormat: true}
		}
	}
	return nil
}

// quotedOrComment is what no variable or template breaks. A quote begins where a value or a key does.
var quotedOrComment = regexp.MustCompile(`(?:^|[\s\[{,:])(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?:^|\s)#.*`)

// unquoted returns a line with spaces for its comment and its quoted texts, so that the columns of all else stay.
func unquoted(line string) string {
	return quotedOrComment.ReplaceAllStringFunc(line, func(found string) string {
		return strings.Repeat(" ", utf8.RuneCountInString(found))
	})
}

var directive = regexp.MustCompile(`(?m)^\x{FEFF}*%`)

// lineOfDirective returns the line of a directive that the parser refuses, or 0.
func lineOfDirective(text, says string) int {
	found := directive.FindStringIndex(text)
	isBare := found != nil && found[0] == 0 && !strings.Contains(text, "\n---")
	if found == nil || !isBare && !strings.Contains(says, "directive") && !strings.Contains(says, "incompatible YAML") {
		return 0
	}
	return 1 + strings.Count(text[:found[0]], "\n")
}

// lineOfFault returns the line of what the parser refuses. The parser names where it began to read something, counts some lines from zero,
// and leaves the first one out.
func lineOfFault(text, says string) int {
	if opened.MatchString(says) {
		// On the second line, where it begins is named as well.
		says = refusal(strings.NewReader("\n" + strings.TrimRightFunc(strings.TrimPrefix(text, "\ufeff"), unicode.IsSpace)))
		found := errorLine.FindStringSubmatch(says)
		if found == nil {
			return 1
		}
		line, _ := strconv.Atoi(found[1])
		if !strings.Contains(says, "expected ',' or") {
			line--
		}
		return line
	}
	rest := strings.NewReader(text)
	refusal(slowly{rest})
	read := text[:len(text)-rest.Len()]
	return firstRefused(text, says, 1+strings.Count(strings.TrimRight(read, " \r\n"), "\n"))
}

// mostSteps is more than the parser reads beyond what it refuses: two tokens, each on a line of its own.
const mostSteps = 4

// firstRefused returns the line of a fault that the parser notices at a line, or some lines before: a text that ends with the fault is
// refused in the same words.
func firstRefused(text, says string, line int) int {
	lines := strings.Split(text, "\n")
	for range mostSteps {
		before := line - 1
		for before > 0 && isEmpty(lines[before-1]) {
			before--
		}
		begin := strings.Join(lines[:before], "\n") + "\n"
		if strings.Contains(says, "expected node content") {
			begin += " x" // otherwise the end is one where a value belongs
		}
		if errorLine.ReplaceAllString(refusal(strings.NewReader(begin)), "") != errorLine.ReplaceAllString(says, "") {
			break
		}
		line = before
	}
	return line
}

// isEmpty tells whether a line has nothing or a comment.
func isEmpty(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// refusal returns what the parser says of a text that it refuses.
func refusal(text io.Reader) string {
	decoder := yaml.NewDecoder(text)
	err := decoder.Decode(&yaml.Node{})
	for err == nil {
		err = decoder.Decode(&yaml.Node{})
	}
	return err.Error()
}

// slowly gives one byte at a time, so that its reader has read no more than it looked at.
type slowly struct{ io.Reader }

func (s slowly) Read(into []byte) (int, error) { return s.Reader.Read(into[:1]) } //nolint:wrapcheck // it is io.EOF

// columnOf returns the column of the first character that is asked for.
func columnOf(line string, is func(rune) bool) int {
	return 1 + len([]rune(line[:max(0, strings.IndexFunc(line, is))]))
}

// IsUTF16 tells whether a text is UTF-16, by its byte order mark or by the zero in its first letter.
func IsUTF16(text string) bool {
	if len(text) < 2 {
		return false
	}
	return text[:2] == "\xff\xfe" || text[:2] == "\xfe\xff" || (text[0] == 0) != (text[1] == 0)
}

// CheckCharacters demands UTF-8 without control characters.
func CheckCharacters(text string) error {
	if IsUTF16(text) {
		return &Error{Line: 1, Reason: "is UTF-16; save the file as UTF-8", AnyFormat: true}
	}
	isControl := func(char rune) bool { return unicode.IsControl(char) && !strings.ContainsRune("\t\r\u0085", char) }
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !utf8.ValidString(line):
			return &Error{Line: i + 1, Reason: "is not UTF-8; save the file as UTF-8", AnyFormat: true}
		case strings.Contains(line, "\x00"):
			return &Error{Line: i + 1, Reason: "has a NUL byte; remove it", AnyFormat: true}
		case strings.ContainsFunc(line, isControl):
			return &Error{Line: i + 1, Column: columnOf(line, isControl), Reason: "has a control character; remove it", AnyFormat: true}
		}
	}
	return nil
}
