// Command cluster builds and runs the Kubernetes control plane on which
// kube8-operator is tested and shown. It needs Go and nothing else: no
// Docker, no root, no downloaded binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kube8/kube8-operator/test/cluster/internal/assets"
	"github.com/kube8/kube8-operator/test/cluster/internal/demo"
)

const usage = `usage: go -C test/cluster run . COMMAND

commands:
  assets [NAME...]  make sure the named binaries exist (default: all) and print their folder
  demo              run the operator and its samples on a control plane of this machine

environment:
  KUBEBUILDER_ASSETS  folder whose binaries are used instead of built ones, where it has all that are wanted
  KUBE8_CACHE_DIR     where built binaries are kept (default: kube8-operator in the user's cache folder)
  DEMO_EXIT=1         demo: stop once everything was shown
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(withParent(ctx), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no command given\n\n" + usage)
	}
	module, err := os.Getwd()
	if err != nil {
		return err
	}
	versions, err := assets.ReadVersions(module)
	if err != nil {
		return fmt.Errorf("%w (run it as `go -C test/cluster run .`)", err)
	}
	builder := &assets.Builder{Module: module, Versions: versions, Progress: os.Stderr}

	switch command := args[0]; command {
	case "assets":
		names := args[1:]
		if len(names) == 0 {
			names = assets.Names()
		}
		dir, err := builder.Ensure(ctx, names...)
		if err != nil {
			return err
		}
		fmt.Println(dir)
		return nil
	case "demo":
		return demo.Run(ctx, demo.Options{
			Root:    filepath.Join(module, "..", ".."),
			Builder: builder,
			Out:     os.Stdout,
			Exit:    os.Getenv("DEMO_EXIT") == "1",
		})
	default:
		return fmt.Errorf("unknown command %q\n\n%s", command, usage)
	}
}

// withParent returns a context that also ends when the process that started
// this one goes. `go run` dies of SIGTERM without passing it on, and whoever
// stops `make demo` that way must not be left with a control plane.
func withParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		defer cancel()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}
