// Command kube8-operator turns Collectors into running telemetry collectors. It decides nothing: flags become options
// of one call, and an error becomes the exit code.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// optional are subcommands that the image goes without: built with the tag runonly, the binary has but what a cluster
// needs.
var optional []func() *cobra.Command

// newCommand returns the command line; without a subcommand it runs the operator.
func newCommand() *cobra.Command {
	run := newRunCommand()
	root := &cobra.Command{
		Use:           "kube8-operator",
		Short:         "Turn Collectors into running telemetry collectors",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          run.RunE,
	}
	root.Flags().AddFlagSet(run.Flags())
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(run, newReadyCommand(), newVersionCommand())
	for _, command := range optional {
		root.AddCommand(command())
	}
	return root
}
