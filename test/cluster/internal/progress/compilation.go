package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Program is a program to compile.
type Program struct {
	Name  string        // what is printed: the name, and a version where there is one
	Takes time.Duration // roughly, on two cores, when nothing that it consists of was compiled before; 0: not known
	Build func() error
}

// Compile builds the programs one after the other. Each gets a line that says how many there are, how long the program takes, and how long
// it took; on a terminal, also how long it has taken so far. An error ends it.
func Compile(out io.Writer, programs []Program) error {
	if total := sum(programs); total > time.Minute {
		fmt.Fprintf(out, "compiling %d programs, which takes about %s on 2 cores, the first time\n", len(programs), roughly(total))
	}
	for i, p := range programs {
		line := fmt.Sprintf("compiling %d of %d: %s", i+1, len(programs), p.Name)
		if p.Takes > 0 {
			line += ", about " + roughly(p.Takes)
		}
		line += " …"
		fmt.Fprint(out, line)
		took, err := watch(out, line, p.Build)
		if err != nil {
			fmt.Fprintln(out, " not built")
			return err
		}
		fmt.Fprintf(out, " %s\n", Duration(took))
	}
	return nil
}

// watch does something, says on a terminal how long it has taken so far, and returns how long it took.
func watch(out io.Writer, line string, do func() error) (time.Duration, error) {
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if isTerminal(out) {
				fmt.Fprintf(out, "\r%s%s\r%s", line, strings.Repeat(" ", len(" 100m00s")), line)
			}
			return time.Since(start), err
		case <-tick.C:
			if isTerminal(out) {
				fmt.Fprintf(out, "\r%s %s", line, Duration(time.Since(start).Truncate(time.Second)))
			}
		}
	}
}

func sum(programs []Program) time.Duration {
	var total time.Duration
	for _, p := range programs {
		total += p.Takes
	}
	return total
}

// roughly formats an estimate: whole minutes, or below two of them tens of seconds.
func roughly(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%ds", max(10, int(d.Round(10*time.Second).Seconds())))
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
