package offline

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/internal/operator"
)

// NewCommand returns the command render, which the operator's command line and the kubectl plugin have.
func NewCommand() *cobra.Command {
	var opts operator.Options
	var paths, apiVersions []string
	var output string
	var allowNone bool
	cmd := &cobra.Command{
		Use:   "render [-f] FILE|DIR|-...",
		Short: "Print what the operator would apply for each Collector in files",
		Long: `Print what the operator would apply for each Collector in files, offline: through
the same schema, chart and post-renderer, and the API server's own validation of what
comes out. Objects of other kinds are passed over.

If the API server or the operator would refuse a Collector, each reason is one line
on standard error, with file, object and field. The exit code is then 1, and no
manifest is printed. A line that begins with "Warning:" is no such reason: it names a
trap of the collector's vendor.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths = append(paths, args...)
			if len(paths) == 0 && !allowNone {
				return errors.New("name files or folders with Collectors, or - for standard input")
			}
			if output != "yaml" && output != "json" {
				return fmt.Errorf("--output is yaml or json, not %q", output)
			}
			renderer, err := New(opts, apiVersions)
			if err != nil {
				return err
			}
			renderer.JSON, renderer.AllowNone = output == "json", allowNone
			renderer.Warn = func(warning string) { fmt.Fprintln(cmd.ErrOrStderr(), "Warning:", warning) }
			return renderer.Files(cmd.Context(), paths, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	opts.AddChartFlags(cmd.Flags())
	cmd.Flags().StringArrayVarP(&paths, "filename", "f", nil,
		"file or folder with Collectors, or - for standard input; may be repeated, and -f may be left out")
	cmd.Flags().StringVarP(&output, "output", "o", "yaml",
		"yaml, or json: a List of the manifests or, on standard output too, the problems")
	cmd.Flags().BoolVar(&allowNone, "allow-none", false,
		"succeed even if there is no Collector at all, for hooks that pass whichever files have changed")
	cmd.Flags().StringSliceVar(&apiVersions, "api-versions", nil,
		"APIs that the cluster has beyond those of Kubernetes, such as monitoring.coreos.com/v1/ServiceMonitor")
	return cmd
}
