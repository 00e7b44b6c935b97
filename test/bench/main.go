// Command bench measures what the operator costs for a fleet of Collectors, side by side with the stock helm-operator:
// the same chart, the same Collectors, one control plane, one operator at a time, in alternating order. `make bench`
// runs it; docs/explanation/performance.md says what it measures and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// options are the flags.
type options struct {
	n, secrets, deployments int
	runs, workers           int
	phases, modes           []string
	only                    string
	scale                   []int
	memorySecrets           int
	large                   int // Collectors of mode fleet10k
	churn, churnSeconds     int
	wave                    int // Collectors of mode wave
	seed                    uint64
	operator                string // the operator's binary
	before                  string // another one, of mode before
	peer, peerConfig        string // the peer's binary, and the folder that has its CRDs and its role
	cpuProfile              string // folder, or "" for no profiles
	report                  string // Markdown file, or "" to measure
	measurements            []string
}

// The phases and modes, in the order in which they run.
var (
	allPhases = []string{"install", "restart", "configChange", "chartUpgrade", "delete"}
	allModes  = []string{"fleet", "scale", "memory", "churn", "start", "fleet10k", "wave", "bases", "basewave", "before"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	opts, err := parseFlags(os.Args[1:])
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard()) // the bench's own clients have nothing to say
	if opts.report != "" {
		return report(opts.report, opts.measurements)
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return errors.New("KUBEBUILDER_ASSETS is not set: run `make bench`, which builds what it needs and sets it")
	}
	dir, err := os.MkdirTemp("", "kube8-operator-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: opts, dir: dir, result: newMeasurements(opts)}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for _, mode := range opts.modes {
		if err = b.run(ctx, mode); err != nil {
			err = fmt.Errorf("%s: %w", mode, err)
			break // what was measured before took long
		}
	}
	b.result.print(os.Stdout)
	if path := os.Getenv("BENCH_JSON"); path != "" {
		err = errors.Join(err, b.result.write(path))
	}
	return err
}

func parseFlags(args []string) (options, error) {
	o := options{}
	var phases, modes, scale string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.n, "n", 100, "Collectors")
	flags.IntVar(&o.secrets, "secrets", 5000, "unrelated Secrets in the cluster")
	flags.IntVar(&o.deployments, "deployments", 100, "unrelated Deployments in the cluster")
	flags.IntVar(&o.runs, "runs", 3, "runs of which the median counts; an odd number")
	flags.IntVar(&o.workers, "workers", 0,
		"Collectors that an operator works on at a time, instead of its own default; the floor works as ours does")
	flags.StringVar(&phases, "phases", strings.Join(allPhases, ","), "phases to measure; install and delete run in any case")
	flags.StringVar(&modes, "modes", "fleet", "what to measure, of "+strings.Join(allModes, ","))
	flags.StringVar(&o.only, "only", "", "measure only ours or only stock")
	flags.StringVar(&scale, "scale", "10,25,50,100,250,500,1000", "numbers of Collectors of mode scale; stock is measured up to 100")
	flags.IntVar(&o.large, "fleet", 10000, "Collectors of mode fleet10k, which measures 100 too")
	flags.IntVar(&o.memorySecrets, "memory-secrets", 20000, "unrelated Secrets of mode memory")
	flags.IntVar(&o.churn, "churn", 50, "Collectors with a pod that flaps once a second, of mode churn")
	flags.IntVar(&o.churnSeconds, "churn-seconds", 60, "seconds that mode churn measures")
	flags.IntVar(&o.wave, "wave", 1000, "Collectors of mode wave")
	flags.Uint64Var(&o.seed, "seed", 1, "of the random moments at which mode wave kills the operator")
	flags.StringVar(&o.operator, "operator", "bin/linux-"+runtime.GOARCH+"/kube8-operator", "binary of the operator")
	flags.StringVar(&o.before, "before", "", "binary of another operator, with which mode before compares")
	flags.StringVar(&o.peer, "peer", "", "binary of the "+peer+", with which mode scale compares too")
	flags.StringVar(&o.peerConfig, "peer-config", "", "folder config of the peer's source, which has its CRDs and its role")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "",
		"folder for CPU profiles, one of each phase of ours, from a build that can profile itself")
	flags.StringVar(&o.report, "report", "",
		"measure nothing: put the JSON files that are the arguments into this Markdown file, and a plot beside it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.phases, o.modes, o.measurements = strings.Split(phases, ","), strings.Split(modes, ","), flags.Args()
	var err error
	if o.scale, err = numbers(scale); err != nil {
		return o, fmt.Errorf("-scale: %w of Collectors", err)
	}
	return o, o.check()
}

// numbers reads numbers of which each is at least 1, separated by commas.
func numbers(list string) ([]int, error) {
	var found []int
	for number := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number", number)
		}
		found = append(found, n)
	}
	return found, nil
}

func (o *options) check() error {
	for _, phase := range o.phases {
		if !slices.Contains(allPhases, phase) {
			return fmt.Errorf("-phases: no phase is called %q, choose from: %s", phase, strings.Join(allPhases, " "))
		}
	}
	for _, mode := range o.modes {
		if !slices.Contains(allModes, mode) {
			return fmt.Errorf("-modes: no mode is called %q, choose from: %s", mode, strings.Join(allModes, " "))
		}
	}
	var err error
	switch {
	case o.runs < 1 || o.runs%2 == 0:
		return errors.New("-runs: must be odd, so that there is a median")
	case o.n < 1 || o.churn < 1 || o.workers < 0:
		return errors.New("-n and -churn must be at least 1, and -workers not negative")
	case o.large <= smallFleet:
		return fmt.Errorf("-fleet: must be more than %d, with which it is compared", smallFleet)
	case o.wave < 20:
		return errors.New("-wave: must be at least 20, of which the budget is one")
	case o.only != "" && o.only != ours && o.only != stock:
		return errors.New("-only: must be ours or stock")
	case (o.peer == "") != (o.peerConfig == ""):
		return errors.New("-peer and -peer-config: give both, or neither")
	case o.report != "" && len(o.measurements) == 0:
		return errors.New("-report: name the JSON files, as BENCH_JSON wrote them, as arguments")
	case o.report == "" && len(o.measurements) > 0:
		return fmt.Errorf("unexpected argument %q", o.measurements[0])
	}
	// Operators run in folders of their own.
	for _, path := range []*string{&o.operator, &o.before, &o.peer, &o.cpuProfile} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	}
	return nil
}
