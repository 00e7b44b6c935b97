package main

import (
	"flag"
	"fmt"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/kube8/kube8-operator/internal/operator"
)

func newRunCommand() *cobra.Command {
	var opts operator.Options
	var logging zap.Options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the operator (the default)",
		Long: `Run the operator against the cluster of --kubeconfig, of $KUBECONFIG, or the one it runs in.

WATCH_NAMESPACE, a comma-separated list, confines it to those namespaces; unset or
empty means all of them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctrl.SetLogger(operator.Logger(logging))
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find a cluster, set --kubeconfig or $KUBECONFIG: %w", err)
			}
			opts.Build = version + " " + commit
			ctrl.Log.Info("starting operator", "version", version)
			return operator.Run(cmd.Context(), cfg, opts)
		},
	}
	opts.AddFlags(cmd.Flags())
	logging.BindFlags(flag.CommandLine)
	cmd.Flags().AddGoFlagSet(flag.CommandLine) // zap's, and controller-runtime's --kubeconfig
	return cmd
}
