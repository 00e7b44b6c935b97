// Package progress prints what happens as it happens: one numbered line for
// each step, with what came of it and how long it took.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Steps numbers and prints steps. The zero value with Out set is ready.
type Steps struct {
	Out io.Writer

	count int
}

// Do prints the title, runs the step, and completes the line with the detail
// that the step returns and the time it took.
func (s *Steps) Do(title string, step func() (detail string, err error)) error {
	s.count++
	fmt.Fprintf(s.Out, "%2d  %-31s", s.count, title)
	start := time.Now()
	detail, err := step()
	if err != nil {
		detail = "failed"
	}
	fmt.Fprintf(s.Out, " %-51s %6s\n", detail, Duration(time.Since(start)))
	return err
}

// Duration formats the time a step took, as exactly as a person cares.
func Duration(d time.Duration) string {
	switch {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}
