package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube8/kube8-operator/internal/operator"
)

func newReadyCommand() *cobra.Command {
	var opts operator.Options
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Wait until an operator is at work in this namespace",
		Long: `Wait until the API server serves Collectors and an operator renews its leader Lease, and print
that operator's name. "helm test" runs this in a pod of the operator's image.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find a cluster, set $KUBECONFIG: %w", err)
			}
			holder, err := operator.Ready(cmd.Context(), cfg, opts, timeout)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the operator %s is at work, and the API server serves Collectors\n", holder)
			}
			return err
		},
	}
	opts.AddLeaseFlags(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait")
	return cmd
}
