package queue

import (
	"testing"
	"time"
)

func TestTheEarlierDelay(t *testing.T) {
	for name, row := range map[string]struct{ a, b, want time.Duration }{
		"none":                {0, 0, 0},
		"the only one, first": {3, 0, 3},
		"the only one, last":  {0, 3, 3},
		"the first of two":    {2, 3, 2},
		"the last of two":     {3, 2, 2},
	} {
		if got := earlier(row.a, row.b); got != row.want {
			t.Errorf("%s: got %d", name, got)
		}
	}
}
