package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// recipe is what a Dockerfile says of an image: its configuration, and what each COPY adds.
type recipe struct {
	config v1.Config
	layers []layer
}

type layer struct {
	instruction string
	files       []file
}

// read follows a Dockerfile in the tree, for these arguments. It needs no container tool, because our images start from
// scratch and run nothing: what would, is refused.
func (t *tree) read(dockerfile string, args map[string]string) (*recipe, error) {
	text, err := os.ReadFile(t.path(dockerfile))
	if err != nil {
		return nil, fmt.Errorf("read a Dockerfile: %w", err)
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dockerfile, err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dockerfile, err)
	}
	if len(stages) != 1 || stages[0].BaseName != "scratch" {
		return nil, fmt.Errorf("%s: a release's image has one stage, FROM scratch: others could not be made again", dockerfile)
	}
	ignored, err := t.ignored()
	if err != nil {
		return nil, err
	}
	lex := shell.NewLex(parsed.EscapeToken)
	r, declared := &recipe{config: v1.Config{Labels: map[string]string{}}}, []string{}
	for _, command := range stages[0].Commands {
		if command, ok := command.(instructions.SupportsSingleWordExpansion); ok {
			err = command.Expand(func(word string) (string, error) {
				out, _, err := lex.ProcessWord(word, shell.EnvsFromSlice(declared))
				return out, err //nolint:wrapcheck // wrapped below, where the line is known
			})
		}
		if err == nil {
			if arg, ok := command.(*instructions.ArgCommand); ok {
				for _, a := range arg.Args {
					declared = append(declared, a.Key+"="+args[a.Key])
				}
				continue
			}
			err = t.follow(r, command, ignored)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", dockerfile, command.Location()[0].Start.Line, command, err)
		}
	}
	return r, nil
}

// follow does what an instruction says.
func (t *tree) follow(r *recipe, command instructions.Command, ignored *patternmatcher.PatternMatcher) error {
	switch c := command.(type) {
	case *instructions.LabelCommand:
		for _, label := range c.Labels {
			r.config.Labels[label.Key] = label.Value
		}
	case *instructions.WorkdirCommand:
		r.config.WorkingDir = c.Path
	case *instructions.UserCommand:
		r.config.User = c.User
	case *instructions.EntrypointCommand:
		if c.PrependShell {
			return errors.New("write it as a list: the image has no shell")
		}
		r.config.Entrypoint = c.CmdLine
	case *instructions.CopyCommand:
		if len(c.SourcePaths) != 1 || c.From != "" || c.Chown != "" || c.Chmod != "" {
			return errors.New("a release's images have COPY with one source and no flag")
		}
		files, err := t.copied(c.SourcePaths[0], c.DestPath, ignored)
		if err != nil {
			return err
		}
		r.layers = append(r.layers, layer{"COPY " + c.SourcePaths[0] + " " + c.DestPath, files})
	default:
		return errors.New("a release's images have no such instruction, only ARG, LABEL, COPY, WORKDIR, USER and ENTRYPOINT")
	}
	return nil
}

// copied returns the files that COPY adds to an image.
func (t *tree) copied(source, destination string, ignored *patternmatcher.PatternMatcher) ([]file, error) {
	source = path.Clean(source)
	all, err := readFiles(t.dir, source)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && all[0].name == source && strings.HasSuffix(destination, "/") {
		destination += path.Base(source)
	}
	var files []file
	for _, f := range all {
		skip, err := ignored.MatchesOrParentMatches(filepath.FromSlash(f.name))
		if err != nil {
			return nil, fmt.Errorf(".dockerignore: %w", err)
		}
		if !skip {
			f.name = strings.TrimPrefix(path.Join(destination, strings.TrimPrefix(f.name, source)), "/")
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("it copies nothing: .dockerignore leaves nothing of %s", source)
	}
	return files, nil
}

// ignored matches what .dockerignore keeps out of every image.
func (t *tree) ignored() (*patternmatcher.PatternMatcher, error) {
	text, err := os.Open(t.path(".dockerignore"))
	if err != nil {
		return nil, fmt.Errorf("read what images leave out: %w", err)
	}
	defer text.Close()
	patterns, err := ignorefile.ReadAll(text)
	if err != nil {
		return nil, fmt.Errorf(".dockerignore: %w", err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf(".dockerignore: %w", err)
	}
	return matcher, nil
}
