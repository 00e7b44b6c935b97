package kubectl

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func (p *plugin) promoteCommand() *cobra.Command {
	cmd := p.about("promote", "Have all pods of a Collector get the change that canary pods prove",
		`Have all pods of a Collector get the change that canary pods prove, or have failed to
prove. It writes the annotation kube8.dev/promote, which counts for this change only.`,
		func(ctx context.Context, s *session, name string) error {
			return p.decide(ctx, s, name, "promoted", v1alpha1.PromoteAnnotation, v1alpha1.AbortAnnotation)
		})
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) abortCommand() *cobra.Command {
	cmd := p.about("abort", "Have the last revision of a Collector serve again in place of a canary",
		`Have the last revision of a Collector serve again in place of the change that canary
pods prove. It writes the annotation kube8.dev/abort, which counts for this change only.
The spec stays as it is.`,
		func(ctx context.Context, s *session, name string) error {
			return p.decide(ctx, s, name, "aborted", v1alpha1.AbortAnnotation, v1alpha1.PromoteAnnotation)
		})
	p.mayBeDry(cmd)
	return cmd
}

// describeCanary says which change canary pods prove, or have failed to prove, for status.
func describeCanary(collector *v1alpha1.Collector, ready v1alpha1.Condition) string {
	change := collector.Status.Canary
	text, remedy := "change "+change.Hash+", for "+ago(change.Since.Time), "; `kubectl collector promote` and `abort` decide at once"
	if change.Since.IsZero() {
		text = "change " + change.Hash + " has not begun to prove itself"
	}
	if change.RolledBack != "" {
		text, remedy = "change "+change.Hash+" has failed", "; `kubectl collector promote` deploys it nevertheless"
	}
	if undecidable(collector, ready) != "" {
		remedy = "; it cannot be promoted or aborted now"
	}
	return text + remedy
}

// ofCanary are the reasons of Ready that are about the change in status.canary.
var ofCanary = []string{v1alpha1.ReasonProving, v1alpha1.ReasonCanaryPaused, v1alpha1.ReasonRolledBack}

// undecidable says why nothing can be decided about the last change of a Collector and what to do, or nothing. status.canary can be an
// earlier change, which has failed: a decision about that would do nothing now, and deploy it without a proof if the spec went back to it.
func undecidable(collector *v1alpha1.Collector, ready v1alpha1.Condition) string {
	name := collector.Name + " -n " + collector.Namespace
	isOfIt := slices.Contains(ofCanary, ready.Reason) && collector.Status.Canary != nil
	switch {
	case ready.Reason == v1alpha1.ReasonPaused:
		return "the Collector is paused; `kubectl collector resume " + name + "` has the operator follow its spec again"
	case collector.Status.ObservedGeneration < collector.Generation:
		return "the operator has not reconciled it yet; wait until `kubectl collector status " + name + "` shows it"
	case isOfIt:
		return ""
	}
	remedy := "; `kubectl collector status " + name + "` shows more"
	if ready.Reason == v1alpha1.ReasonProgressing || ready.Reason == v1alpha1.ReasonChecking {
		remedy = "; wait until it does"
	}
	return "it does not prove itself, and Ready is " + ready.Reason + ": " + ready.Message + remedy
}

// decide writes what a user has decided about the change of a Collector's canary.
func (p *plugin) decide(ctx context.Context, s *session, name, verb, says, unsays string) error {
	read, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	if why := undecidable(read, conditionOf(read, "Ready")); why != "" {
		return fmt.Errorf("the last change of Collector %s/%s cannot be %s: %s", s.namespace, name, verb, why)
	}
	change := read.Status.Canary
	annotations := map[string]any{says: change.Hash, unsays: nil}
	if err := s.send(ctx, read, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
		return err
	}
	return p.done(name, verb+": change "+change.Hash)
}
