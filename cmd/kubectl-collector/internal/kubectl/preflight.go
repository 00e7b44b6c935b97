package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
)

// preflight says which Collectors are checked, with what version, and how.
type preflight struct {
	listing
	version, collector string
	concurrency        int
	timeout            time.Duration
	output             format
}

// maxConcurrency is how many checks can run at a time. All that they have created is removed within some seconds after Ctrl-C.
const maxConcurrency = 50

// verdict is what is known of a Collector with another version.
type verdict string

const (
	passes  verdict = "passes"
	fails   verdict = "fails"
	unknown verdict = "unknown"
)

// forecast is what would become of a Collector.
type forecast struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Version   string  `json:"version,omitempty"` // that it has now
	Verdict   verdict `json:"verdict"`
	Reason    string  `json:"reason,omitempty"`
}

func (p *plugin) preflightCommand() *cobra.Command {
	var f preflight
	cmd := &cobra.Command{
		Use: "preflight --version VERSION", Short: "Say which Collectors another version of the collector would refuse",
		Long: `Say which Collectors another version of the collector would refuse, and why. Nothing
is deployed: the collector of that version checks each configuration in a Job, as
spec.check has it checked, beside what serves. Jobs and their Secrets are removed at
the end, also on Ctrl-C, and by Kubernetes if the command is killed.

Bases of the platform are those of the deployed revision, so your account needs the
rights of the command history for Collectors that have some.

The result is "unknown" if a check cannot start because of a quota or a missing image,
and if the Collector is refused with its present version, too.

The reason has what the collector says when it refuses, which can quote the
configuration. The exit code is 2 if a Collector would fail, 1 if one is unknown.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.preflight(cmd.Context(), f) },
	}
	f.addSelection(cmd.Flags())
	cmd.Flags().StringVar(&f.version, "version", "", "the collector's version to check with")
	cmd.Flags().StringVar(&f.collector, "collector", "", "only those that run this collector, such as opentelemetry-collector")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 5, fmt.Sprintf("how many checks run at a time, at most %d", maxConcurrency))
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long a check may take; default is what spec.check says, or 2m")
	f.output.addFlag(cmd.Flags())
	if err := cmd.MarkFlagRequired("version"); err != nil {
		panic(err) // the flag is not there: a mistake in this function
	}
	return cmd
}

func (p *plugin) preflight(ctx context.Context, f preflight) error {
	forPrograms, err := f.output.isForPrograms()
	if err != nil {
		return err
	}
	if f.concurrency < 1 || f.concurrency > maxConcurrency || f.timeout < 0 || f.timeout > 0 && f.timeout < time.Second {
		return fmt.Errorf("--concurrency is at least 1 and at most %d, and --timeout at least 1s", maxConcurrency)
	}
	renderer, err := offline.New(operator.Options{}, nil)
	if err != nil {
		return err
	}
	if err := checkVersion(ctx, renderer, f.version); err != nil {
		return err
	}
	s, err := p.connect()
	if err != nil {
		return err
	}
	rows, err := p.rows(ctx, s, f.listing)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return f.collector != "" && r["collector"] != f.collector })
	found := p.forecasts(ctx, s, renderer, rows, f)
	slices.SortFunc(found, func(a, b forecast) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case forPrograms:
		err = p.writeAs(f.output, map[string]any{"version": f.version, "collectors": found})
	case len(found) == 0:
		_, err = fmt.Fprintln(p.ErrOut, "No Collectors found.")
	default:
		var table strings.Builder
		if err = f.print(&table, found); err == nil {
			err = p.paint(table.String(), stateColour)
		}
	}
	if err != nil {
		return err
	}
	if n := count(found, fails); n > 0 {
		return refusedError{fmt.Errorf("collectors that would fail with %s: %d", f.version, n)}
	}
	if n := count(found, unknown); n > 0 {
		return fmt.Errorf("collectors of which it is not known whether they would fail with %s: %d", f.version, n)
	}
	return nil
}

// forecasts checks Collectors, some at a time, and tells how far it is.
func (p *plugin) forecasts(ctx context.Context, s *session, renderer *offline.Renderer, rows []row, f preflight) []forecast {
	found := make([]forecast, len(rows))
	var checks errgroup.Group
	checks.SetLimit(f.concurrency)
	var mutex sync.Mutex
	done := 0
	for i, r := range rows {
		one := &found[i]
		*one = forecast{Namespace: r["namespace"], Name: r["name"], Verdict: unknown, Reason: "not checked: interrupted"}
		if ctx.Err() != nil {
			continue
		}
		there := *s
		there.namespace = r["namespace"]
		trial := there.prepare(ctx, renderer, one, f) // not at the same time as another: a chart is rendered by one
		checks.Go(func() error {
			var left error
			if trial != nil && ctx.Err() == nil {
				one.Verdict, one.Reason = trial.run(ctx)
				left = trial.remove(ctx)
			}
			mutex.Lock()
			defer mutex.Unlock()
			done++
			if left != nil {
				fmt.Fprintf(p.ErrOut, "%v\nKubernetes deletes a Job and its Secret %d seconds after the Job has ended\n", left, keptSeconds)
			}
			fmt.Fprintf(p.ErrOut, "%d of %d: %s/%s %s\n", done, len(rows), one.Namespace, one.Name, one.Verdict)
			return nil
		})
	}
	_ = checks.Wait() // none returns an error
	return found
}

// print prints a table and a summary.
func (f preflight) print(to io.Writer, found []forecast) error {
	out := printers.GetNewTabWriter(to)
	fmt.Fprintln(out, "NAMESPACE\tNAME\tVERSION\tVERDICT\tREASON")
	for _, one := range found {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", one.Namespace, one.Name, cmp.Or(one.Version, "-"), one.Verdict, cmp.Or(one.Reason, "-"))
	}
	if err := out.Flush(); err != nil {
		return err //nolint:wrapcheck // of standard output
	}
	_, err := fmt.Fprintf(to, "\nwith %s: %d of %d pass, %d would fail, %d unknown\n",
		f.version, count(found, passes), len(found), count(found, fails), count(found, unknown))
	return err
}

func count(found []forecast, of verdict) (n int) {
	for _, one := range found {
		if one.Verdict == of {
			n++
		}
	}
	return n
}

// words returns a text with single spaces for all that separates its words.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// oneLine returns a text with single spaces for all that separates its words, and not longer than a screen can show.
func oneLine(text string) string {
	const most = 300
	text = words(text)
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}
