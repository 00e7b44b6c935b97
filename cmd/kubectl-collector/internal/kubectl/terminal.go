package kubectl

import (
	"fmt"
	"io"
	"os"

	"k8s.io/cli-runtime/pkg/printers"
)

// Output returns a writer to out. If that is a terminal, it is a Terminal.
func Output(out *os.File) io.Writer {
	if printers.IsTerminal(out) {
		return Terminal{out}
	}
	return out
}

// Terminal is a terminal that what tenants wrote cannot control: control sequences become visible.
type Terminal struct{ out io.Writer }

// Write writes text without control sequences.
func (t Terminal) Write(text []byte) (int, error) {
	if err := printers.WriteEscaped(t.out, string(text)); err != nil {
		return 0, err //nolint:wrapcheck // a decorator returns what the decorated one returns
	}
	return len(text), nil
}

// clear empties the terminal, and goes to its first line.
func (t Terminal) clear() { fmt.Fprint(t.out, "\x1b[2J\x1b[H") }
