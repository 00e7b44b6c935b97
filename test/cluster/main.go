// Command cluster builds and runs the Kubernetes clusters on which
// kube8-operator is tested and shown. It needs Go and no downloaded binary; the
// demo needs no root, and the one-node cluster needs it and Debian's containerd.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kube8/kube8-operator/test/cluster/internal/assets"
	"github.com/kube8/kube8-operator/test/cluster/internal/demo"
	"github.com/kube8/kube8-operator/test/cluster/internal/node"
)

const usage = `usage: go -C test/cluster run . COMMAND

commands:
  assets [NAME...]  make sure the named binaries exist (default: all) and print their folder
  demo              run the operator and its samples on a control plane of this machine
  up                bring up a cluster of one real node, as root, which runs until it is brought down
  load ARCHIVE...   give its node the images of archives, as docker save writes them; name absolute paths
  down              stop that cluster and remove all that it made

environment:
  KUBEBUILDER_ASSETS  folder whose binaries are used instead of built ones, where it has all that are wanted
  KUBE8_CACHE_DIR     where built binaries are kept (default: kube8-operator in the user's cache folder)
  KUBE8_CLUSTER_DIR   up, load, down: the cluster's folder (default: ` + node.DefaultDir + `)
  DEMO_RUN=COMMAND    demo: run that in a shell once everything was shown, and stop
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(command string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx = withParent(ctx)
	module, err := os.Getwd()
	if err != nil {
		return err
	}
	builder, err := assets.NewBuilder(module, os.Getenv("KUBERNETES"), os.Stderr)
	if err != nil {
		return fmt.Errorf("%w (run it as `go -C test/cluster run .`)", err)
	}

	switch command {
	case "assets":
		if len(args) == 0 {
			args = assets.Names()
		}
		dir, err := builder.Ensure(ctx, args...)
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
			Command: os.Getenv("DEMO_RUN"),
		})
	case "up", "load", "down":
		return runNode(ctx, builder, command, args)
	default:
		return fmt.Errorf("no command is called %q, choose from: assets demo up load down", command)
	}
}

func runNode(ctx context.Context, builder *assets.Builder, command string, args []string) error {
	dir := os.Getenv("KUBE8_CLUSTER_DIR")
	if dir == "" {
		dir = node.DefaultDir
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	cluster := &node.Cluster{Dir: dir, Builder: builder, Out: os.Stdout}
	switch command {
	case "up":
		return cluster.Up(ctx)
	case "load":
		return cluster.Load(ctx, args...)
	default:
		return cluster.Down(ctx)
	}
}

// withParent returns a context that also ends when the process that started
// this one goes. `go run` dies of SIGTERM without passing it on, and
// a user who stops `make demo` that way must not be left with a control plane.
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
