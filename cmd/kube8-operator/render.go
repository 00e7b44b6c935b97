//go:build !runonly

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/internal/render"
)

func init() { optional = append(optional, newRenderCommand) }

func newRenderCommand() *cobra.Command {
	var opts operator.Options
	var filename string
	var apiVersions []string
	cmd := &cobra.Command{
		Use:   "render -f FILE|DIR|-",
		Short: "Print what the operator would apply for each Collector in a file",
		Long: `Print what the operator would apply for each Collector in a file, offline: through
the same schema, chart and post-renderer, and the API server's own validation of what
comes out. Objects of other kinds are passed over.

What the API server or the operator would refuse is one line on standard error for each
problem, with file, Collector and field; nothing is printed then, and the exit code is 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ws, err := operator.LoadWatches(opts)
			if err != nil {
				return fmt.Errorf("load charts: %w", err)
			}
			renderer, err := render.New(ws, apiVersions)
			if err != nil {
				return fmt.Errorf("load schema: %w", err)
			}
			return renderer.Files(cmd.Context(), filename, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	opts.AddChartFlags(cmd.Flags())
	cmd.Flags().StringVarP(&filename, "filename", "f", "", "file or folder with Collectors, or - for standard input")
	cmd.Flags().StringSliceVar(&apiVersions, "api-versions", nil,
		"APIs that the cluster has beyond those of Kubernetes, such as monitoring.coreos.com/v1/ServiceMonitor")
	if err := cmd.MarkFlagRequired("filename"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}
