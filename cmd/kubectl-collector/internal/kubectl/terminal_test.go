package kubectl

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatTenantsWroteDoesNotControlTheTerminal(t *testing.T) {
	var out strings.Builder
	terminal := Terminal{&out}
	terminal.clear()
	_, err := fmt.Fprint(terminal, "version\x1b]0;title\a\r1.0.0\u009b2J\b\u202e\tä\n")
	if want := "\x1b[2J\x1b[Hversion\\x1b]0;title\\a\\r1.0.0\\u009b2J\\b\\u202e\tä\n"; err != nil || out.String() != want {
		t.Errorf("wrote %q, want %q, error %v", out.String(), want, err)
	}
}
