package render

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/internal/postrender"
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

// Error names file, object, field and what is wrong, in one line.
func (p Problem) Error() string {
	var parts []string
	if p.File != "" {
		parts = append(parts, p.File)
	}
	if p.Collector != "" {
		parts = append(parts, "Collector "+p.Collector)
	}
	if p.Field != "" {
		parts = append(parts, p.Field)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// Problems are an error with a line for each.
type Problems []Problem

// Error is the problems, each on a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// chartSays precedes what a template refuses by Helm's function fail.
var chartSays = regexp.MustCompile(`^.*execution error at \([^)]*\): `)

// problemsOf turns what a step refuses into problems. It is the one place where errors become what people read.
func problemsOf(err error) Problems {
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems
	}
	if refused, ok := errors.AsType[*postrender.ConfigurationError](err); ok {
		return Problems{{Field: refused.Field, Message: refused.Reason}}
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return Problems{{File: failed.Path, Message: "cannot be read: " + failed.Err.Error()}}
	}
	message := strings.Join(strings.Fields(err.Error()), " ")
	if says := chartSays.ReplaceAllString(message, ""); says != message {
		return Problems{{Field: "spec", Message: says}}
	}
	return Problems{{Message: message}}
}

// about returns problems with the file or the Collector that they are about, where that is not said yet, each once.
func (p Problems) about(file, collector string) Problems {
	var named Problems
	for _, problem := range p {
		if problem.File == "" {
			problem.File = file
		}
		if problem.Collector == "" {
			problem.Collector = collector
		}
		if !slices.Contains(named, problem) {
			named = append(named, problem)
		}
	}
	return named
}
