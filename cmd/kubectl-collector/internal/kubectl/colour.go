package kubectl

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// Colours of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// hasColours tells whether the user wants colours (https://no-color.org), and the terminal has them.
func hasColours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

func in(colour, text string) string { return "\x1b[" + colour + "m" + text + "\x1b[0m" }

// paint prints a text. On a terminal, each line is coloured.
func (p *plugin) paint(text string, colour func(line string) string) error {
	terminal, isTerminal := p.Out.(Terminal)
	if !isTerminal || !terminal.colours {
		_, err := fmt.Fprint(p.Out, text)
		return err
	}
	for line := range strings.Lines(text) {
		line, end, _ := strings.Cut(escape(line), "\n")
		if _, err := io.WriteString(terminal.out, colour(line)+end+"\n"); err != nil {
			return err //nolint:wrapcheck // of standard output
		}
	}
	return nil
}

// diffColour colours a line of a difference.
func diffColour(line string) string {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return line
	case strings.HasPrefix(line, "+"):
		return in(green, line)
	case strings.HasPrefix(line, "-"):
		return in(red, line)
	case strings.HasPrefix(line, "@@ "):
		return in(cyan, line)
	}
	return line
}

// states are the words that say how a Collector does, and their colours.
var states = []struct {
	words  *regexp.Regexp
	colour string
}{
	{regexp.MustCompile(`^(\S+ +){1,3}(True|passes)\b|^Ready +Available\b|^Collector \S+ is ready\b`), green},
	{regexp.MustCompile(`^(\S+ +){1,3}(False|fails)\b|^Ready +[A-Z]\w+|^Collector \S+ is not ready\b`), red},
	{regexp.MustCompile(`^(\S+ +){1,3}(Unknown|unknown)\b|^Collector \S+ is paused\b`), yellow},
}

// stateColour colours a line by what it says of a Collector, up to the word that says it.
func stateColour(line string) string {
	for _, state := range states {
		if at := state.words.FindStringIndex(line); at != nil {
			return in(state.colour, line[:at[1]]) + line[at[1]:]
		}
	}
	return line
}
