package progress

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for name, test := range map[string]struct {
		took time.Duration
		want string
	}{
		"nothing to wait for":                    {0, "0.0s"},
		"short times keep a tenth":               {1234 * time.Millisecond, "1.2s"},
		"a tenth never rounds up to 10.0s":       {9960 * time.Millisecond, "10s"},
		"longer times are whole seconds":         {32400 * time.Millisecond, "32s"},
		"seconds never round up to 60s":          {59700 * time.Millisecond, "1m00s"},
		"minutes keep two digits of seconds":     {3*time.Minute + 5*time.Second, "3m05s"},
		"an hour is still counted in minutes":    {61 * time.Minute, "61m00s"},
		"minutes round up at the half of second": {119600 * time.Millisecond, "2m00s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Duration(test.took); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
