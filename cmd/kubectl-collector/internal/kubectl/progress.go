package kubectl

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
)

func (told *progress) print(to io.Writer) error {
	if told.IsPaused {
		fmt.Fprint(to, "Changes are paused; `kubectl collector rollout resume` has them go on.\n\n")
	}
	if told.IsGated {
		fmt.Fprint(to, "Each ring after the first waits for `kubectl collector rollout continue`.\n\n")
	}
	out, columns := printers.GetNewTabWriter(to), []string{"up to date", "waiting", "left out", "on their way", "overdue", "refused"}
	fmt.Fprintln(out, strings.ToUpper("ring\t"+strings.Join(columns, "\t")))
	for _, ring := range slices.SortedFunc(maps.Keys(told.Rings), compare) {
		fmt.Fprint(out, ring)
		for _, state := range columns {
			fmt.Fprintf(out, "\t%d", told.Rings[ring][state])
		}
		fmt.Fprintln(out)
	}
	if len(told.Bases) > 0 {
		fmt.Fprintln(out, "\nBASE\tNOW\tDEPLOYED")
	}
	for _, name := range slices.Sorted(maps.Keys(told.Bases)) {
		var deployed []string
		for _, version := range slices.Sorted(maps.Keys(told.Bases[name])) {
			deployed = append(deployed, fmt.Sprintf("%s: %d", version, told.Bases[name][version]))
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, cmp.Or(told.Now[name], "unknown"), strings.Join(deployed, ", "))
	}
	told.printNamed(out, "Overdue", "overdue", told.Overdue)
	told.printNamed(out, "On their way, and others wait until they are ready", "on their way", told.OnTheWay)
	told.printNamed(out, "Refused", "refused", told.Refused)
	return out.Flush() //nolint:wrapcheck // of standard output
}

// printNamed prints Collectors of a state, and how many more there are.
func (told *progress) printNamed(out io.Writer, title, state string, named []late) {
	if len(named) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	more := -len(named)
	for _, counts := range told.Rings {
		more += counts[state]
	}
	for _, one := range named {
		fmt.Fprintf(out, "  %s/%s, for %s: %s\n", one.Namespace, one.Name, ago(one.Since.Time), one.Cause)
	}
	if more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}
