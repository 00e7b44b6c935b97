package kubectl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/cmd/logs"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// checkLabel is on the pods of a check, with the Collector's name as its value.
const checkLabel = "kube8.dev/check"

func (p *plugin) logsCommand() *cobra.Command {
	options := logs.NewLogsOptions(p.IOStreams)
	options.Prefix, options.MaxFollowConcurrency = true, 50
	var ofCheck bool
	var command *cobra.Command
	command = p.about("logs", "Print the logs of all pods of a Collector",
		"Print the logs of all pods of a Collector, or those of its check, by the code of kubectl logs.",
		func(ctx context.Context, s *session, name string) error {
			if _, err := s.read(ctx, name); err != nil {
				return err
			}
			options.Selector, options.AllContainers = v1alpha1.CollectorLabel+"="+name, options.Container == ""
			what := "pod"
			if ofCheck {
				options.Selector, what = checkLabel+"="+name, "check that still has its pod"
			}
			if err := options.Complete(p.factory, command, nil); err != nil {
				return fmt.Errorf("find the pods: %w", err)
			}
			if pods, ok := options.Object.(*corev1.PodList); ok && len(pods.Items) == 0 {
				return fmt.Errorf("collector %s/%s has no %s; `kubectl collector status %[2]s -n %[1]s` says what there is", s.namespace, name, what)
			}
			if err := options.Validate(); err != nil {
				return err //nolint:wrapcheck // it names the flag
			}
			return options.RunLogsContext(ctx)
		})
	options.AddFlags(command)
	for _, name := range []string{"all-pods", "all-containers", "selector"} {
		if err := command.Flags().MarkHidden(name); err != nil {
			panic(err) // kubectl has no such flag any more
		}
	}
	command.Flags().BoolVar(&ofCheck, "check", false, "print the log of the check that spec.check asks for")
	return command
}
