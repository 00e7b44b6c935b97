package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Two that are measured; the third is peer. stock and peer are also names of ServiceAccounts.
const (
	ours  = "ours"
	stock = "stock"
)

// bench measures.
type bench struct {
	options
	dir    string
	binary string    // of the operator as it is run, which may be one that profiles itself
	roots  [2]string // folders that operators run in: with the chart, and with another version of it
	kinds  []schema.GroupVersionKind
	result *measurements

	// Of the mode that runs.
	plane    *plane
	releases *releases
}

// prepare does what all modes need.
func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.roots, err = writeRoots(b.dir); err != nil {
		return err
	}
	sample, err := renderFleet(ctx, b.roots[0], newFleet(1, "1s"))
	if err != nil {
		return err
	}
	for _, object := range sample[0] {
		b.kinds = append(b.kinds, object.GroupVersionKind())
	}
	if _, err := os.Stat(b.operator); err != nil {
		return fmt.Errorf("find the operator's binary, see -operator: %w", err)
	}
	if b.binary = b.operator; b.cpuProfile == "" {
		return nil
	}
	if err := os.MkdirAll(b.cpuProfile, 0o755); err != nil {
		return err
	}
	b.binary = filepath.Join(b.dir, "profiled")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "runonly", "-o", b.binary, "./test/bench/profiled")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator that profiles itself: %w\n%s", err, out)
	}
	return nil
}

// run measures in one mode.
func (b *bench) run(ctx context.Context, mode string) error {
	switch mode {
	case "fleet10k":
		return b.large(ctx)
	case "bases":
		return b.bases(ctx)
	}
	return b.onPlane(ctx, mode, map[string]func(context.Context) error{
		"fleet": b.fleet, "scale": b.scaling, "memory": b.memory, "churn": b.churning, "start": b.starting,
		"wave":     func(ctx context.Context) error { return b.waving(ctx, false) },
		"basewave": func(ctx context.Context) error { return b.waving(ctx, true) },
		"before":   b.comparing,
	}[mode])
}

// onPlane measures on a control plane of its own.
func (b *bench) onPlane(ctx context.Context, name string, measure func(context.Context) error) (err error) {
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		return err
	}
	b.say("%s: starting etcd and kube-apiserver", name)
	b.plane, err = startPlane(ctx, dir)
	defer func() { err = errors.Join(err, b.plane.stop()) }()
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	if b.releases, err = follow(following, b.plane.env.Config); err != nil {
		return err
	}
	return measure(ctx)
}

// systems returns what is to be measured, in the order of one run: it alternates.
func (b *bench) systems(run int) []string {
	switch {
	case b.only != "":
		return []string{b.only}
	case run%2 == 0:
		return []string{ours, stock}
	default:
		return []string{stock, ours}
	}
}

// operate starts an operator in one of the roots, as its ServiceAccount and with the flags that it has in a cluster. The
// phase is the one that its profile begins with, if any. More flags win over these.
func (b *bench) operate(ctx context.Context, system, root, phase string, more ...string) (*process, error) {
	// An operator that does not give its Lease back when it ends would have the next one wait for it.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: leaseOf(system)}}
	if err := client.IgnoreNotFound(b.plane.client.Delete(ctx, lease)); err != nil {
		return nil, err
	}
	account, binary, args := b.program(system)
	kubeconfig, err := b.plane.kubeconfig(ctx, account)
	if err != nil {
		return nil, err
	}
	profiler, err := freeAddress()
	if err != nil {
		return nil, err
	}
	metrics := ""
	if b.before != "" {
		if metrics, err = freeAddress(); err != nil {
			return nil, err
		}
		args = append(args, "--metrics-bind-address="+metrics, "--metrics-secure=false")
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "WATCH_NAMESPACE="}
	profiled := b.cpuProfile != "" && system == ours
	if profiled {
		env = append(env, "BENCH_PROFILER="+profiler)
		if phase != "" {
			env = append(env, "BENCH_CPUPROFILE="+b.profilePath(phase))
		}
	}
	p, err := start(root, account, filepath.Join(b.plane.dir, system+"-"+profiler+".log"), env, binary, append(args, more...)...)
	if err == nil && profiled {
		p.profiler = profiler
	}
	if err == nil {
		p.metrics = metrics
	}
	return p, err
}

// program returns the ServiceAccount that an operator acts as, its binary, and its flags.
func (b *bench) program(system string) (account, binary string, args []string) {
	args = []string{
		"--watches-file=watches.yaml",
		"--leader-elect", "--leader-election-id=" + leaseOf(system), "--leader-election-namespace=" + systemNamespace,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--metrics-secure",
		// As the operator ships. The stock operator's default of a minute would be more work yet, without an end.
		"--reconcile-period=1h",
	}
	if b.workers > 0 {
		args = append(args, fmt.Sprintf("--max-concurrent-reconciles=%d", b.workers))
	}
	const atOnce = "--rollout-budget=100%" // another chart reaches all at once, as with the stock operator
	switch system {
	case peer:
		return peer, b.peer, peerArgs
	case stock:
		return stock, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "helm-operator"), append([]string{"run", "--metrics-require-rbac"}, args...)
	case before:
		return stock, b.before, append(args, atOnce) // it may need other rights than those of this tree
	default:
		return oursAccount, b.binary, append(args, atOnce)
	}
}

// leaseOf is the name of an operator's Lease: for ours the one that its role names.
func leaseOf(system string) string {
	if system != stock {
		return "kube8-operator"
	}
	return system
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
