package kubectl

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/cli-runtime/pkg/printers"
)

// Output returns a writer to out. If that is a terminal, it is a Terminal.
func Output(out *os.File) io.Writer {
	if printers.IsTerminal(out) {
		return Terminal{out, hasColours()}
	}
	return out
}

// Terminal is a terminal that what tenants wrote cannot control: control sequences become visible.
type Terminal struct {
	out     io.Writer
	colours bool
}

// Write writes text without control sequences.
func (t Terminal) Write(text []byte) (int, error) {
	if _, err := io.WriteString(t.out, escape(string(text))); err != nil {
		return 0, err //nolint:wrapcheck // a decorator returns what the decorated one returns
	}
	return len(text), nil
}

// escape writes control characters, and those that turn the direction of text, as Go does: \x1b, \u202e.
func escape(text string) string {
	var escaped strings.Builder
	for _, char := range text {
		isTurn := char >= 0x202a && char <= 0x202e || char >= 0x2066 && char <= 0x2069
		if isTurn || unicode.IsControl(char) && char != '\n' && char != '\t' {
			escaped.WriteString(strings.Trim(strconv.QuoteRuneToASCII(char), "'"))
			continue
		}
		escaped.WriteRune(char)
	}
	return escaped.String()
}

// clear empties the terminal, and goes to its first line.
func (t Terminal) clear() { fmt.Fprint(t.out, "\x1b[2J\x1b[H") }
