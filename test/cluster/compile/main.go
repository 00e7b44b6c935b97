// Command compile compiles what `make demo` runs: the operator, the demo, and
// the control plane. It says what it compiles and how long that takes, so it
// depends on next to nothing that has to be compiled before it can say so.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kube8/kube8-operator/test/cluster/internal/assets"
	"github.com/kube8/kube8-operator/test/cluster/internal/progress"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	module, err := os.Getwd()
	if err != nil {
		return err
	}
	builder, err := assets.NewBuilder(module, os.Getenv("KUBERNETES"), os.Stderr)
	if err != nil {
		return fmt.Errorf("%w (run it as `go -C test/cluster run ./compile`)", err)
	}
	root := filepath.Join(module, "..", "..")
	programs := []progress.Program{
		{Name: "the operator and its kubectl plugin", Build: func() error {
			return assets.Compile(ctx, root, "./cmd/kube8-operator", "./cmd/kubectl-collector")
		}},
		{Name: "the demo", Build: func() error { return assets.Compile(ctx, module, ".") }},
	}
	// There is no estimate if they were compiled before.
	if _, err := os.Stat(filepath.Join(root, "bin", "kubectl-collector")); err != nil {
		programs[0].Takes, programs[1].Takes = assets.OperatorTakes, assets.DemoTakes
	}
	for _, names := range [][]string{assets.API, assets.Controllers} {
		plan, err := builder.Plan(names...)
		if err != nil {
			return err
		}
		programs = append(programs, plan.Programs(ctx)...)
		go plan.Download(ctx)
	}
	return progress.Compile(os.Stderr, programs)
}
