// Command kubectl-collector is the kubectl plugin for Collectors. It decides nothing: its internal/kubectl has the commands, and
// an error becomes the exit code.
package main

import (
	"fmt"
	"os"
	"runtime"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/kubectl"
)

// version and commit are set by the linker.
var (
	version = "devel"
	commit  = "unknown"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: kubectl.Output(os.Stdout), ErrOut: kubectl.Output(os.Stderr)}
	command := kubectl.NewCommand(streams,
		fmt.Sprintf("kubectl-collector %s (commit %s, %s, %s/%s)", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(streams.ErrOut, err)
		os.Exit(kubectl.ExitCode(err))
	}
}
