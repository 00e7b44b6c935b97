package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaces returns the labels of namespaces: of all, or of the operator's alone, or of none, as the account may read them.
func (s *session) namespaces(ctx context.Context, operators string) (map[string]map[string]string, error) {
	var list corev1.NamespaceList
	err := s.client.List(ctx, &list)
	if apierrors.IsForbidden(err) {
		var alone corev1.Namespace
		if err = s.client.Get(ctx, client.ObjectKey{Name: operators}, &alone); err == nil {
			list.Items = append(list.Items, alone)
		}
	}
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the labels of namespaces: %w", err)
	}
	found := map[string]map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Name] = list.Items[i].Labels
	}
	return found, nil
}

func (told *progress) print(to io.Writer) error {
	switch {
	case told.IsPaused == nil:
		fmt.Fprint(to, "It is not known whether changes are paused: your account cannot read the operator's namespace, "+
			"which --operator-namespace names.\n\n")
	case *told.IsPaused:
		fmt.Fprint(to, "Changes are paused; `kubectl collector rollout resume` has them go on.\n\n")
	}
	if ptr.Deref(told.IsGated, false) {
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
