package progress

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCompile(t *testing.T) {
	built := func() error { return nil }
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		programs []Program
		want     string
		err      error
	}{
		"nothing to compile is not mentioned": {nil, "", nil},
		"what takes long is announced": {
			[]Program{{"one v1", 150 * time.Second, built}, {"two v2", 3 * time.Second, built}},
			"compiling 2 programs, which takes about 3m on 2 cores, the first time\n" +
				"compiling 1 of 2: one v1, about 3m … 0.0s\n" +
				"compiling 2 of 2: two v2, about 10s … 0.0s\n", nil,
		},
		"what takes a time that is not known has no estimate": {
			[]Program{{"one v1", 0, built}}, "compiling 1 of 1: one v1 … 0.0s\n", nil,
		},
		"an error ends it": {
			[]Program{{"one v1", 44 * time.Second, func() error { return broken }}, {"two v2", 0, built}},
			"compiling 1 of 2: one v1, about 40s … not built\n", broken,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := Compile(&out, test.programs)
			if !errors.Is(err, test.err) || out.String() != test.want {
				t.Errorf("got %v and\n%s\nwant %v and\n%s", err, out.String(), test.err, test.want)
			}
		})
	}
}
