package kubectl

import (
	"context"
	"fmt"

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
func describeCanary(change *v1alpha1.CanaryStatus) string {
	if change.RolledBack != "" {
		return "change " + change.Hash + " has failed; `kubectl collector promote` deploys it nevertheless"
	}
	return "change " + change.Hash + ", for " + ago(change.Since.Time) + "; `kubectl collector promote` and `abort` decide at once"
}

// decide writes what a user has decided about the change of a Collector's canary.
func (p *plugin) decide(ctx context.Context, s *session, name, verb, says, unsays string) error {
	read, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	change := read.Status.Canary
	if change == nil {
		return fmt.Errorf("no change of Collector %s/%s proves itself; `kubectl collector status %[2]s -n %[1]s` shows how it is",
			s.namespace, name)
	}
	annotations := map[string]any{says: change.Hash, unsays: nil}
	if err := s.send(ctx, read, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
		return err
	}
	return p.done(name, verb+": change "+change.Hash)
}
