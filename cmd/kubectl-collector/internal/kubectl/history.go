package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
)

// revisions returns what is recorded of a Collector, newest first.
func (s *session) revisions(ctx context.Context, collector *v1alpha1.Collector) ([]history.Revision, error) {
	revisions, err := history.Of(ctx, s.client, collector)
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("revisions are recorded in Secrets of namespace %s, which your account may not read; "+
			"ask for the verbs get and list on secrets there: %w", s.namespace, err)
	}
	return revisions, err
}

func (p *plugin) historyCommand() *cobra.Command {
	var output format
	cmd := p.about("history", "List the revisions that were deployed",
		`List the revisions that were deployed, what changed in each, and, where that is
recorded, who changed it. The operator records as many as spec.revisionHistoryLimit says, 10
by default. No content of a configuration and no value of a variable is shown.

They are recorded in Secrets. An account that may not read Secrets sees what the
events of the Collector tell.`,
		func(ctx context.Context, s *session, name string) error {
			collector, err := s.read(ctx, name)
			if err != nil {
				return err
			}
			forPrograms, err := output.isForPrograms()
			if err != nil {
				return err
			}
			revisions, err := s.revisions(ctx, collector)
			if err == nil && forPrograms {
				return p.writeAs(output, map[string]any{"revisions": revisions})
			}
			if apierrors.IsForbidden(err) && !forPrograms {
				fmt.Fprintf(p.ErrOut, "%v\nthe events tell:\n", err)
				return p.deployments(ctx, s, collector)
			}
			if err != nil {
				return err
			}
			if len(revisions) == 0 {
				_, err := fmt.Fprintf(p.Out, "nothing is deployed yet; `kubectl collector why %s -n %s` says why\n", name, s.namespace)
				return err
			}
			return printRevisions(p.Out, revisions)
		})
	output.addFlag(cmd.Flags())
	return cmd
}

// printRevisions prints a table. A tenant can have written line breaks and tabs into all that is said of a revision.
func printRevisions(to io.Writer, revisions []history.Revision) error {
	out := printers.GetNewTabWriter(to)
	fmt.Fprintln(out, "REVISION\tAGE\tSTATUS\tVERSION\tCONFIGURATION\tCHANGED BY\tCHANGES")
	for _, revision := range revisions {
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", revision.Number, ago(revision.Deployed), oneLine(revision.Status),
			cmp.Or(oneLine(revision.Version), "not recorded"), cmp.Or(short(revision.ConfigHash), "none"),
			cmp.Or(oneLine(revision.ChangedBy), "unknown"), cmp.Or(few(revision.Changes), "not recorded"))
	}
	return out.Flush() //nolint:wrapcheck // of standard output
}

// few returns the first of some changes, as far as a line has room.
func few(changes []string) string {
	const most = 4
	var first []string
	for _, change := range changes[:min(len(changes), most)] {
		first = append(first, oneLine(change))
	}
	if more := len(changes) - len(first); more > 0 {
		first = append(first, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(first, "; ")
}

// deployments prints the events of deployed revisions.
func (p *plugin) deployments(ctx context.Context, s *session, collector *v1alpha1.Collector) error {
	events, err := s.events(ctx, collector.UID)
	if err != nil {
		return err
	}
	printed := false
	for i := range events {
		if reason := events[i].Reason; reason == "Installed" || reason == "Upgraded" {
			fmt.Fprintf(p.Out, "%s  %s %s\n", ago(lastSeen(&events[i])), reason, words(events[i].Message))
			printed = true
		}
	}
	if !printed {
		fmt.Fprintf(p.Out, "nothing: events are kept for an hour. The deployed revision is %s\n", revisionOf(collector))
	}
	return nil
}

// revisionOf returns the number of the revision that the status says is deployed.
func revisionOf(collector *v1alpha1.Collector) string {
	if collector.Status.DeployedRelease == nil {
		return "none"
	}
	return strconv.FormatInt(collector.Status.DeployedRelease.Revision, 10)
}

// short is what people compare of a hash.
func short(hash string) string { return hash[:min(len(hash), 10)] }
