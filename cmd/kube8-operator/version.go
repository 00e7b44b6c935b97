package main

import (
	"crypto/fips140"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker.
var (
	version = "devel"
	commit  = "unknown"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cryptography := ""
			if fips140.Enabled() {
				cryptography = ", FIPS 140-3 module " + fips140.Version()
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "kube8-operator %s (commit %s, %s, %s/%s%s)\n",
				version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, cryptography)
			return err
		},
	}
}
