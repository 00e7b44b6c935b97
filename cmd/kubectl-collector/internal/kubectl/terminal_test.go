package kubectl

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestWhatTenantsWroteDoesNotControlTheTerminal(t *testing.T) {
	var out strings.Builder
	terminal := Terminal{out: &out}
	terminal.clear()
	_, err := fmt.Fprint(terminal, "version\x1b]0;title\a\r1.0.0\u009b2J\b\u202e\tä\n")
	if want := "\x1b[2J\x1b[Hversion\\x1b]0;title\\a\\r1.0.0\\u009b2J\\b\\u202e\tä\n"; err != nil || out.String() != want {
		t.Errorf("wrote %q, want %q, error %v", out.String(), want, err)
	}
}

func TestATerminalHasColoursAndNothingElseHas(t *testing.T) {
	for name, row := range map[string]struct {
		text   string
		colour func(string) string
		want   string
	}{
		"a difference": {
			"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\x1b[5m\n same\n", diffColour,
			"--- a\n+++ b\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-old\x1b[0m\n\x1b[32m+new\\x1b[5m\x1b[0m\n same\n",
		},
		"a list": {
			"NAME  READY\na  True  Available\nns  b  False  PodsNotReady\n\n1 of 2 ready\n", stateColour,
			"NAME  READY\n\x1b[32ma  True\x1b[0m  Available\n\x1b[31mns  b  False\x1b[0m  PodsNotReady\n\n1 of 2 ready\n",
		},
		"a status":    {"Ready   Available: 1/1\nRevision  2\n", stateColour, "\x1b[32mReady   Available\x1b[0m: 1/1\nRevision  2\n"},
		"another one": {"Ready   PodsNotReady: x\n", stateColour, "\x1b[31mReady   PodsNotReady\x1b[0m: x\n"},
		"a reason":    {"Collector a/b is not ready, for 3s\n", stateColour, "\x1b[31mCollector a/b is not ready\x1b[0m, for 3s\n"},
		"a preflight": {"a  b  0.150.0  unknown  -\n", stateColour, "\x1b[33ma  b  0.150.0  unknown\x1b[0m  -\n"},
	} {
		var out strings.Builder
		p := &plugin{IOStreams: genericiooptions.IOStreams{Out: Terminal{&out, true}}}
		if err := p.paint(row.text, row.colour); err != nil || out.String() != row.want {
			t.Errorf("%s: wrote %q, want %q, error %v", name, out.String(), row.want, err)
		}
		var file strings.Builder
		p.Out = &file
		if err := p.paint(row.text, row.colour); err != nil || file.String() != row.text {
			t.Errorf("%s: wrote %q to a file, error %v", name, file.String(), err)
		}
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if hasColours() {
		t.Error("NO_COLOR does not count")
	}
	t.Setenv("NO_COLOR", "")
	if !hasColours() {
		t.Error("there is no colour at all")
	}
}
