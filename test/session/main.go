// Command session runs the commands of a script, one line each, and writes what a terminal would show as an SVG. After
// `make demo` and `make plugin`, on the demo's cluster, this makes docs/session.svg:
//
//	cd test/session && PATH="$PWD/../../bin:$PATH" go run . commands.txt ../../docs/session.svg
package main

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	columns    = 118 // longer lines are cut
	lineHeight = 18
	charWidth  = 7.8
	margin     = 16
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: session SCRIPT SVG")
	}
	script, err := os.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer script.Close()
	var shown []string
	for lines := bufio.NewScanner(script); lines.Scan(); {
		command := lines.Text()
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}
		out, err := exec.Command("bash", "-c", command).CombinedOutput() //nolint:gosec // the script's commands are what it is for
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			return fmt.Errorf("run %q: %w", command, err)
		}
		if command, isShown := strings.CutPrefix(command, ": hidden; "); !isShown {
			shown = append(shown, "$ "+command)
			shown = append(shown, strings.Split(strings.TrimRight(string(out), "\n")+"\n", "\n")...)
		}
	}
	return os.WriteFile(os.Args[2], draw(shown), 0o644)
}

// draw returns lines as a terminal shows them.
func draw(lines []string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="monospace" font-size="13">`+"\n",
		columns*charWidth+2*margin, len(lines)*lineHeight+2*margin)
	out.WriteString(`<rect width="100%" height="100%" rx="8" fill="#10171e"/>` + "\n")
	for i, line := range lines {
		color := "#c9d4de"
		if strings.HasPrefix(line, "$ ") {
			color = "#7fd1ae"
		}
		if characters := []rune(line); len(characters) > columns {
			line = string(characters[:columns-1]) + "…"
		}
		fmt.Fprintf(&out, `<text xml:space="preserve" x="%d" y="%d" fill="%s">`, margin, margin+(i+1)*lineHeight-5, color)
		_ = xml.EscapeText(&out, []byte(strings.ReplaceAll(line, "\t", "    "))) // a buffer takes all
		out.WriteString("</text>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}
