// Package docs reads the commands in the documentation, so that tests can run what people will copy, and find what
// nothing runs.
//
// A command is a line after "$ " in a console block, a sh block as a whole, or a make or kubectl command in the running
// text. A test runs those of a section by [Script], the sh blocks of a page by [Blocks], or all of its blocks by [Follow].
package docs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Command is one command of a page.
type Command struct {
	Page    string // as a path from the root of the repository
	Heading string // of the section that it is in
	Line    int    // from 1
	Text    string // one line, to which those that continue it are joined; of a sh block all lines as they are
	block   bool   // a sh block
	inline  bool   // in the running text
}

var (
	fence   = regexp.MustCompile("^\\s*```(\\w*)")
	heading = regexp.MustCompile(`^#+ (.+)$`)
	inline  = regexp.MustCompile("`([^`]+)`")
	// What names a kind of command and no more is not one: kubectl with a verb, or kube8-operator render.
	program = regexp.MustCompile(`^(\w+=\S* )*(make|(kubectl|kube8-operator|bin/\S+|helm|curl|cosign|promtool|go|git|jq) \S+) \S`)
)

// Script returns what a shell runs for one section of a page, or of the pages that a pattern matches: its commands, each
// on a line. An error says that there are none.
func Script(page, section string) (string, error) {
	script, err := join(page, func(c Command) bool { return c.Heading == section })
	if err == nil && script == "" {
		err = fmt.Errorf("%s has no commands in a section %q", page, section)
	}
	return script, err
}

// Blocks returns what a shell runs for all sh blocks of a page. An error says that there are none.
func Blocks(page string) (string, error) {
	script, err := join(page, func(c Command) bool { return c.block })
	if err == nil && script == "" {
		err = fmt.Errorf("%s has no sh blocks", page)
	}
	return script, err
}

func join(pattern string, wanted func(Command) bool) (string, error) {
	pages, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			return "", err
		}
		for _, command := range Commands(page, string(content)) {
			if wanted(command) {
				script.WriteString(command.Text + "\n")
			}
		}
	}
	return script.String(), nil
}

// Shell returns a shell that runs a script until a command fails, with the kubectl at a path.
func Shell(ctx context.Context, script, kubectl string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	return cmd
}

// Commands returns the commands of a page.
func Commands(page, content string) []Command {
	var found []Command
	var section, block string
	goesOn := false // the last command, on the next line
	add := func(line int, text string) {
		if goesOn {
			found[len(found)-1].Text += text
		} else {
			found = append(found, Command{page, section, line, text, block == "sh", block == ""})
		}
	}
	for i, line := range strings.Split(content, "\n") {
		mark := fence.FindStringSubmatch(line)
		switch {
		case mark != nil && block == "":
			block = cmp.Or(mark[1], "text")
		case mark != nil:
			block, goesOn = "", false
		case block == "console":
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok || goesOn {
				whole, more := strings.CutSuffix(text, `\`)
				add(i+1, whole)
				goesOn = more
			}
		case block == "sh":
			add(i+1, line)
			found[len(found)-1].Text += "\n"
			goesOn = true
		case block != "":
		default:
			if match := heading.FindStringSubmatch(line); match != nil {
				section = match[1]
			}
			for _, match := range inline.FindAllStringSubmatch(line, -1) {
				if program.MatchString(match[1]) {
					add(i+1, strings.ReplaceAll(match[1], `\|`, "|"))
				}
			}
		}
	}
	return found
}
