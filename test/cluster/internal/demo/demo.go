// Package demo is `make demo`: it brings up a control plane, runs the operator
// on it with the permissions it ships with, applies the samples, and shows
// what came of them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/test/cluster/internal/assets"
	"github.com/kube8/kube8-operator/test/cluster/internal/controlplane"
	"github.com/kube8/kube8-operator/test/cluster/internal/process"
	"github.com/kube8/kube8-operator/test/cluster/internal/progress"
)

// Options of the demo.
type Options struct {
	Root    string // of the repository
	Builder *assets.Builder
	Out     io.Writer
	Command string // of a shell, which runs once everything was shown, and ends the demo; empty to stay up
}

type demo struct {
	Options
	dir      string // of everything that is removed at the end
	steps    progress.Steps
	binaries controlplane.Binaries
	plane    *controlplane.ControlPlane
	kubectl  controlplane.Kubectl
	client   client.Client
	operator *process.Process
	node     *simulation
}

// Run runs the demo until the context ends, or until all was shown. At
// its end, also after an error, it has stopped what it started and removed its files.
func Run(ctx context.Context, opts Options) (err error) {
	d := &demo{Options: opts, steps: progress.Steps{Out: opts.Out}}
	if d.dir, err = os.MkdirTemp("", "kube8-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	defer func() { err = errors.Join(err, d.stop()) }()

	fmt.Fprintf(d.Out, "kube8-operator demo: a real control plane, and a node that is simulated\n\n")
	if err := d.run(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if d.operator != nil && d.operator.Err() == nil {
			err = fmt.Errorf("%w\n\nthe end of the operator's log:\n%s", err, process.Tail(d.operator.Log, 20))
		}
		return err
	}
	if d.Command == "" {
		return d.stayUp(ctx)
	}
	return d.follow(ctx)
}

func (d *demo) run(ctx context.Context) error {
	if err := d.findBinaries(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		do    func(context.Context) (string, error)
	}{
		{"etcd, kube-apiserver", d.startAPI},
		{"controllers, scheduler", d.startControllers},
		{"node, simulated", d.startNode},
		{"CRD", d.installCRD},
		{"the operator's RBAC", d.installRBAC},
		{"operator", d.startOperator},
		{"a base", d.applyBase},
		{"controllers at work", d.waitForStorage},
		{"samples", d.applySamples},
		{"the base is changed", d.changeBase},
		{"Collectors are ready", d.waitForCollectors},
	} {
		if err := d.steps.Do(step.title, func() (string, error) { return step.do(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return d.report(ctx)
}

// findBinaries builds what is missing. The two groups may come from different
// folders: KUBEBUILDER_ASSETS has only the first.
func (d *demo) findBinaries(ctx context.Context) error {
	if _, err := os.Stat(d.operatorPath()); err != nil {
		return fmt.Errorf("%w (run `make build plugin`)", err)
	}
	api, err := d.Builder.Ensure(ctx, assets.API...)
	if err != nil {
		return err
	}
	rest, err := d.Builder.Ensure(ctx, assets.Controllers...)
	if err != nil {
		return err
	}
	d.binaries = controlplane.Binaries{
		Etcd:              filepath.Join(api, "etcd"),
		APIServer:         filepath.Join(api, "kube-apiserver"),
		ControllerManager: filepath.Join(rest, "kube-controller-manager"),
		Scheduler:         filepath.Join(rest, "kube-scheduler"),
	}
	d.kubectl = controlplane.Kubectl{Path: filepath.Join(api, "kubectl"), CacheDir: filepath.Join(d.dir, "kubectl-cache")}
	return nil
}

func (d *demo) startAPI(ctx context.Context) (string, error) {
	var err error
	if d.plane, err = controlplane.Start(d.dir, d.binaries); err != nil {
		return "", err
	}
	d.kubectl.Kubeconfig = d.plane.Kubeconfig
	if d.client, err = client.New(d.plane.Config, client.Options{}); err != nil {
		return "", err
	}
	// Asked, not assumed: KUBEBUILDER_ASSETS may hold another version.
	discovered, err := discovery.NewDiscoveryClientForConfig(d.plane.Config)
	if err != nil {
		return "", err
	}
	version, err := discovered.ServerVersion()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s at %s", version.GitVersion, strings.TrimSuffix(d.plane.Config.Host, "/")), ctx.Err()
}

func (d *demo) startControllers(context.Context) (string, error) {
	return "kube-controller-manager, kube-scheduler", d.plane.StartControllers(d.binaries)
}

func (d *demo) stayUp(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(d.Out)
			return nil
		case <-tick.C:
			if err := d.ended(); err != nil {
				return err
			}
		}
	}
}

// follow runs the command in a shell in which the lines with export were typed that the demo prints.
func (d *demo) follow(ctx context.Context) error {
	d.heading(d.Command)
	shell := exec.CommandContext(ctx, "bash", "-euc", d.exports()+d.Command)
	shell.Dir, shell.Stdout, shell.Stderr = d.Root, d.Out, d.Out
	if err := errors.Join(shell.Run(), d.ended()); err != nil {
		return fmt.Errorf("%s: %w", d.Command, err)
	}
	return nil
}

// ended says what ended by itself, if something did.
func (d *demo) ended() error { return errors.Join(d.plane.Err(), d.node.Err()) }

func (d *demo) stop() error {
	if d.plane == nil {
		return nil
	}
	return d.steps.Do("stop everything", func() (string, error) {
		d.node.Stop()
		return "", d.plane.Stop()
	})
}

// wait has kubectl wait for something, unless a process ends.
func (d *demo) wait(ctx context.Context, args ...string) error {
	_, err := d.kubectl.Run(ctx, nil, append([]string{"wait"}, args...)...)
	return errors.Join(err, d.ended())
}
