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
	fmt.Fprintln(s.Out, rest(detail, time.Since(start)))
	return err
}

// Begin starts a step that has a line of its own for each of its results,
// which the returned function prints.
func (s *Steps) Begin(title string) (result func(name, detail string)) {
	s.count++
	fmt.Fprintf(s.Out, "%2d  %s\n", s.count, title)
	start := time.Now()
	return func(name, detail string) {
		fmt.Fprintf(s.Out, "    %-31s%s\n", name, rest(detail, time.Since(start)))
	}
}

func rest(detail string, took time.Duration) string {
	return fmt.Sprintf(" %-51s %6s", detail, Duration(took))
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
