package specpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"
)

// FieldsError says what the API server refuses of an object, by the fields of the Collector that it comes from, or what a template
// refuses. It wraps what they say.
type FieldsError struct {
	// Problems are what is wrong, sorted.
	Problems []Problem

	refusal error
}

// Problem is what is wrong with one field of the Collector.
type Problem struct{ Field, Message string }

// String returns the field and what is wrong with it.
func (p Problem) String() string { return p.Field + ": " + p.Message }

// Error returns the problems in one line.
func (e *FieldsError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns what the API server says.
func (e *FieldsError) Unwrap() error { return e.refusal }

// Refuse returns the error that a field of the values is refused, or all of them if the field is empty.
func Refuse(field, why string) error {
	return &FieldsError{Problems: []Problem{{strings.TrimSuffix("spec."+field, "."), why}}, refusal: errors.New(why)}
}

// byTemplate finds what a template refuses by Helm's function fail, and the field at its beginning.
var byTemplate = regexp.MustCompile(`(?s)execution error at \([^)]*\): (?:([a-zA-Z][^\s:]*): )?(.*)$`)

// ExplainRender returns err, an error of rendering, as a *FieldsError if a template of the chart refuses the values, or else as it is.
func ExplainRender(err error) error {
	said := byTemplate.FindStringSubmatch(err.Error())
	if said == nil {
		return err
	}
	return &FieldsError{Problems: []Problem{{strings.TrimSuffix("spec."+said[1], "."), said[2]}}, refusal: err}
}

// Explain returns err, an error about obj, as a *FieldsError if it is the API server's refusal of what obj's fields say,
// or else as it is.
func Explain(err error, collector, obj *unstructured.Unstructured) error {
	var refusal apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refusal) {
		return err
	}
	details := refusal.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return err
	}
	var problems []Problem
	for _, cause := range details.Causes {
		problem := Problem{Of(collector, obj, cause.Field), describe(cause)}
		if obj.GetKind() == "Secret" && cause.Field == "" { // a policy's words can quote what the Secret has
			problem.Message, _, _ = strings.Cut(problem.Message, ": ")
		}
		problems = append(problems, problem)
	}
	// The API server goes through maps, in an order that changes.
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return &FieldsError{Problems: slices.Compact(problems), refusal: err}
}

// keyed are maps whose keys and values the API server checks without a path to the entry: the value tells which it is.
var keyed = regexp.MustCompile(`(^|\.)(labels|annotations|matchLabels|nodeSelector)$`)

// describe says what is wrong without the value, which can be a credential: of a variable that is named TOKEN=abc, for
// example. Only a value that is one of a few, or that names something, is reported.
func describe(cause metav1.StatusCause) string {
	if cause.Type == "" && cause.Field == "" { // an admission policy refuses, in words of its author
		return fmt.Sprintf("%.500s", cause.Message)
	}
	kind := fielderrors.ErrorType(cause.Type)
	value, detail := splitMessage(cause.Message, kind.String()+": ")
	switch {
	case kind == fielderrors.ErrorTypeRequired, kind == fielderrors.ErrorTypeForbidden, kind == fielderrors.ErrorTypeTooLong:
		return cause.Message // it has no value
	case kind == fielderrors.ErrorTypeNotSupported, kind == fielderrors.ErrorTypeNotFound, kind == fielderrors.ErrorTypeDuplicate,
		kind == fielderrors.ErrorTypeInvalid && keyed.MatchString(cause.Field):
		if strings.HasPrefix(value, `"`) {
			return cause.Message
		}
	}
	return strings.TrimSuffix(kind.String()+": "+detail, ": ")
}

// splitMessage splits "Invalid value: VALUE: DETAIL". VALUE is quoted as in Go, or JSON. Both are empty if it is neither.
func splitMessage(message, kind string) (value, detail string) {
	rest, found := strings.CutPrefix(message, kind)
	if !found {
		return "", ""
	}
	value, err := strconv.QuotedPrefix(rest)
	if err != nil {
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&raw); err != nil {
			return "", ""
		}
		value = string(raw)
	}
	return value, strings.TrimPrefix(rest[len(value):], ": ")
}
