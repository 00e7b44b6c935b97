package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/sources"
)

// maxNamed is how many Collectors of a state are shown by name, because each costs some requests.
const maxNamed = 10

// progress is where the changes are that the operator brings.
type progress struct {
	IsPaused *bool                     `json:"isPaused,omitempty"` // nil if the account may not know it
	IsGated  *bool                     `json:"isGated,omitempty"`
	Rings    map[string]map[string]int `json:"rings"` // Collectors by ring and state
	Bases    map[string]map[string]int `json:"bases"` // Collectors by base and version
	Now      map[string]string         `json:"now"`   // versions of those bases that the account may read
	Overdue  []late                    `json:"overdue,omitempty"`
	More     int                       `json:"moreOverdue,omitempty"`
	OnTheWay []late                    `json:"onTheirWay,omitempty"` // at most maxNamed
	Refused  []late                    `json:"refused,omitempty"`    // at most maxNamed
}

// late is a Collector that has not become ready with a change in time.
type late struct {
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Since     metav1.Time `json:"since"`
	Cause     string      `json:"cause"`
}

func (p *plugin) rolloutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollout", Short: "Show, pause, continue and undo changes that reach the fleet in waves",
		Long: `Show, pause, continue and undo changes that reach the fleet in waves: a changed base, or
what another version of the operator changes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.progressCommand(), p.namespaceCommand("pause", "Have changes reach no further Collector", pauseAll),
		p.namespaceCommand("resume", "Have changes go on after pause", resumeAll),
		p.namespaceCommand("continue", "Have the next ring begin, where each waits for a person", continueAll), p.undoCommand())
	return cmd
}

// ofFleet has a command run with a session of all namespaces, unless -n names one.
func (p *plugin) ofFleet(
	cmd *cobra.Command, run func(ctx context.Context, s *session, operators string, args []string) error,
) *cobra.Command {
	operators := cmd.Flags().String("operator-namespace", "kube8-operator-system", "where the operator and bases are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := p.connect()
		if err != nil {
			return err
		}
		s.namespace = *p.flags.Namespace
		if chosen := cmd.Flags().Lookup("selector"); chosen != nil {
			if s.chosen, err = labels.Parse(chosen.Value.String()); err != nil {
				return fmt.Errorf("--selector: %w", err)
			}
		}
		return run(cmd.Context(), s, *operators, args)
	}
	return cmd
}

// addSelector lets a command look at some Collectors only: those of one of several operators.
func addSelector(flags *pflag.FlagSet) {
	flags.StringP("selector", "l", "", "Collectors with such labels: with several operators, those of the one that has the bases")
}

func (p *plugin) progressCommand() *cobra.Command {
	var deadline time.Duration
	var output format
	cmd := &cobra.Command{
		Use: "status", Short: "Show ring by ring where changes are, and which Collectors others wait for", Args: cobra.NoArgs,
		Long: `Show ring by ring where changes are, and which versions of bases are deployed: of all
namespaces, or of that of -n. It names the Collectors that are on their way, overdue or
refused, and says why.`,
	}
	addSelector(cmd.Flags())
	cmd.Flags().DurationVar(&deadline, "deadline", 10*time.Minute,
		"the operator's --rollout-deadline; add 20m if the operator has --rollout-canary")
	output.addFlag(cmd.Flags())
	return p.ofFleet(cmd, func(ctx context.Context, s *session, operators string, _ []string) error {
		forPrograms, err := output.isForPrograms()
		if err != nil {
			return err
		}
		found, err := s.progress(ctx, operators, time.Now().Add(-deadline))
		switch {
		case err != nil:
			return err
		case forPrograms:
			return p.writeAs(output, found)
		}
		return found.print(p.Out)
	})
}

// progress reads where changes are. A Collector that is on its way since before a time is overdue. Rings are unknown to an account that may
// not list namespaces.
func (s *session) progress(ctx context.Context, operators string, before time.Time) (*progress, error) {
	namespaces, err := s.namespaces(ctx, operators)
	if err != nil {
		return nil, err
	}
	found := &progress{Rings: map[string]map[string]int{}, Bases: map[string]map[string]int{}, Now: map[string]string{}}
	if labels, isKnown := namespaces[operators]; isKnown {
		found.IsPaused = new(labels[v1alpha1.RolloutLabel] == v1alpha1.RolloutHold)
		found.IsGated = new(labels[v1alpha1.RolloutLabel] == v1alpha1.RolloutGate)
	}
	add := func(counts map[string]map[string]int, row, column string) {
		if counts[row] == nil {
			counts[row] = map[string]int{}
		}
		counts[row][column]++
	}
	err = s.eachCollector(ctx, func(c *v1alpha1.Collector) {
		labels, isKnown := namespaces[c.Namespace]
		state, since := stateOf(c, labels, before)
		add(found.Rings, ringOf(labels, isKnown), state)
		one := late{Namespace: c.Namespace, Name: c.Name, Since: since}
		switch state {
		case "overdue":
			found.Overdue = append(found.Overdue, one)
		case "on their way":
			found.OnTheWay = append(found.OnTheWay, one)
		case "refused":
			found.Refused = append(found.Refused, one)
		}
		for _, base := range c.Status.Bases {
			name, version, _ := strings.Cut(base, "@")
			add(found.Bases, name, version)
		}
	})
	if err != nil {
		return nil, err
	}
	for name := range found.Bases {
		if b, err := s.base(ctx, operators, name); err == nil {
			found.Now[name] = sources.VersionOf(b.content)
		}
	}
	found.More = max(0, len(found.Overdue)-maxNamed)
	for _, list := range []*[]late{&found.Overdue, &found.OnTheWay, &found.Refused} {
		slices.SortFunc(*list, func(a, b late) int { return a.Since.Compare(b.Since.Time) })
		*list = (*list)[:min(len(*list), maxNamed)]
		for i := range *list {
			(*list)[i].Cause = s.causeOf(ctx, (*list)[i])
		}
	}
	return found, nil
}

// eachCollector reads Collectors in pages, because of their configurations.
func (s *session) eachCollector(ctx context.Context, do func(*v1alpha1.Collector)) error {
	for next := ""; ; {
		var list v1alpha1.CollectorList
		of := &client.ListOptions{Namespace: s.namespace, LabelSelector: s.chosen, Limit: pageSize, Continue: next}
		if err := s.client.List(ctx, &list, of); err != nil {
			return s.failed("list", "", err)
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

// stateOf returns where the change of the operator is, and since when. labels are those of the Collector's namespace.
func stateOf(c *v1alpha1.Collector, labels map[string]string, before time.Time) (state string, since metav1.Time) {
	isPaused, _ := v1alpha1.IsPaused(c)
	isHeld := c.Labels[v1alpha1.RolloutLabel] == v1alpha1.RolloutHold || labels[v1alpha1.RolloutLabel] == v1alpha1.RolloutHold
	pending, ready := conditionOf(c, v1alpha1.UpdatePending), conditionOf(c, "Ready")
	isRefusal := slices.Contains([]string{
		v1alpha1.ReasonConfigInvalid, v1alpha1.ReasonConfigMissing, v1alpha1.ReasonCheckFailed, v1alpha1.ReasonConflict,
		v1alpha1.ReasonReleaseFailed, v1alpha1.ReasonRolledBack, v1alpha1.ReasonCanaryPaused,
	}, ready.Reason)
	since = pending.LastTransitionTime
	if c.Spec.Canary != nil || c.Status.Canary != nil { // which the operator can demand of all
		before = before.Add(-rollout.ProofTime)
	}
	switch {
	case c.DeletionTimestamp != nil: // a finalizer of another client may hold it for ever
		return "left out", since
	case pending.Type == "" && isRefusal:
		return "refused", ready.LastTransitionTime
	case pending.Type == "":
		return "up to date", since
	case isPaused || isHeld || pending.Reason == v1alpha1.ReasonLeftOut: // no wave waits for it
		return "left out", since
	case pending.Reason == v1alpha1.ReasonBaseRefused, pending.Reason == v1alpha1.ReasonRefused:
		return "refused", since
	case pending.Reason != v1alpha1.ReasonRollingOut:
		return "waiting", since
	case rollout.HasFailed(pending.Reason, ready.Reason), since.Time.Before(before):
		return "overdue", since
	}
	return "on their way", since
}

// conditionOf returns a condition of a Collector, which is empty if there is none.
func conditionOf(c *v1alpha1.Collector, conditionType string) (found v1alpha1.Condition) {
	for _, condition := range c.Status.Conditions {
		if condition.Type == conditionType {
			found = condition
		}
	}
	return found
}

// ringOf returns the ring of a namespace with such labels, for people.
func ringOf(labels map[string]string, isKnown bool) string {
	if ring := rollout.RingOf(labels); ring != rollout.LastRing {
		return strconv.Itoa(ring)
	}
	return map[bool]string{true: "last", false: "unknown"}[isKnown]
}

// causeOf says in a line why a Collector is not ready, as why does.
func (s *session) causeOf(ctx context.Context, overdue late) string {
	there := *s
	there.namespace = overdue.Namespace
	o, err := there.observe(ctx, overdue.Name)
	if err != nil {
		return oneLine(err.Error())
	}
	if causes, err := o.causes(); err == nil && len(causes) > 0 {
		return causes[0].Happened + " " + causes[0].Action
	}
	return oneLine(o.state())
}
