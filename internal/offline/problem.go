package offline

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Problem is one reason why a Collector, or a whole file, cannot be rendered. It names no value, which can be a credential.
type Problem struct {
	// File is the file as it was named, or "standard input".
	File string `json:"file"`

	// Collector is its namespace and name, such as tenant-acme/gateway. Empty means that the file itself is wrong.
	Collector string `json:"collector"`

	// Field is the path of the field in the Collector, such as spec.ports.otlp.port. Empty means that none is to blame.
	Field string `json:"field"`

	// Message says in one line what is wrong, and what to do.
	Message string `json:"message"`
}

// String names file, object, field and what is wrong, in one line.
func (p Problem) String() string {
	if p.Collector != "" {
		p.Collector = "Collector " + p.Collector
	}
	parts := slices.DeleteFunc([]string{p.File, p.Collector, p.Field, p.Message}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

// ProblemsError has at least one problem.
type ProblemsError []Problem

// Error is the problems, each on a line.
func (e ProblemsError) Error() string {
	lines := make([]string, len(e))
	for i, problem := range e {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// asError returns e as an error, which is nil if there are no problems.
func (e ProblemsError) asError() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// problemsOf turns what a step refuses, if it does, into problems. It is the one place where errors become what people read.
func problemsOf(err error) ProblemsError {
	if err == nil {
		return nil
	}
	if problems, ok := errors.AsType[ProblemsError](err); ok {
		return problems
	}
	if refused, ok := errors.AsType[*configuration.Error](err); ok {
		return ProblemsError{{Field: refused.Field, Message: refused.Reason}}
	}
	if refused, ok := errors.AsType[*specpath.FieldsError](err); ok {
		var problems ProblemsError
		for _, problem := range refused.Problems {
			problems = append(problems, Problem{Field: problem.Field, Message: problem.Message})
		}
		return problems
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return ProblemsError{{File: failed.Path, Message: "cannot be read: " + failed.Err.Error()}}
	}
	return ProblemsError{{Message: strings.Join(strings.Fields(err.Error()), " ")}}
}

// about returns problems with the file or the Collector that they are about, where that is not said yet, each once.
func (e ProblemsError) about(file, collector string) ProblemsError {
	var named ProblemsError
	for _, problem := range e {
		problem.File, problem.Collector = cmp.Or(problem.File, file), cmp.Or(problem.Collector, collector)
		if !slices.Contains(named, problem) {
			named = append(named, problem)
		}
	}
	return named
}
