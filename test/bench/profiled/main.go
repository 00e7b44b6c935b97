// Command profiled is the operator with an endpoint for profiles, for the benchmark alone: what ships has none. It takes
// the operator's flags.
//
// POST /start?file=PATH begins a CPU profile; POST /stop writes it, and beside it, as PATH.heap, what is allocated. With
// $BENCH_CPUPROFILE the first profile begins when the process does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/kube8/kube8-operator/internal/operator"
)

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	p := &profiler{}
	if path := os.Getenv("BENCH_CPUPROFILE"); path != "" {
		if err := p.start(path); err != nil {
			return err
		}
	}
	http.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) { answer(w, p.start(r.FormValue("file"))) })
	http.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.stop()) })
	server := &http.Server{Addr: os.Getenv("BENCH_PROFILER"), ReadHeaderTimeout: time.Second}
	go func() { fmt.Fprintln(os.Stderr, server.ListenAndServe()) }()

	var opts operator.Options
	opts.AddFlags(pflag.CommandLine)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine) // controller-runtime's
	pflag.Parse()
	ctrl.SetLogger(operator.Logger(zap.Options{}))
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w", err)
	}
	return operator.Run(ctx, cfg, opts)
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// profiler makes one profile at a time.
type profiler struct {
	mutex sync.Mutex
	file  *os.File
}

func (p *profiler) start(path string) (err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.file != nil {
		return errors.New("a profile has begun already")
	}
	if p.file, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(p.file)
}

func (p *profiler) stop() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.file == nil {
		return errors.New("no profile has begun")
	}
	pprof.StopCPUProfile()
	heap, err := os.Create(p.file.Name() + ".heap")
	if err != nil {
		return err
	}
	defer heap.Close()
	runtime.GC() // so that the profile is up to date
	err = errors.Join(pprof.Lookup("heap").WriteTo(heap, 0), p.file.Close())
	p.file = nil
	return err
}
