package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// before is the operator of another commit, with the same chart: flag -before is its binary.
const before = "before"

// compared are the phases of mode before.
var compared = []string{"install", "configChange"}

// pairsFigures are what mode before has found: pairs of runs, one right after the other.
type pairsFigures struct {
	Collectors int       `json:"collectors"`
	Before     []figures `json:"before"`
	Ours       []figures `json:"ours"`
}

// comparing is mode before.
func (b *bench) comparing(ctx context.Context) error {
	if b.before == "" {
		return errors.New("-before: name the binary to compare with")
	}
	if err := b.populate(ctx, b.n, b.secrets, b.deployments); err != nil {
		return err
	}
	for name, binary := range map[string]*string{before: &b.before, ours: &b.binary} {
		copied := filepath.Join(b.dir, name)
		if err := copyBinary(copied, *binary); err != nil {
			return err
		}
		*binary = copied
	}
	found := map[string][]figures{}
	for run := range b.runs {
		systems := []string{before, ours}
		if run%2 == 1 {
			systems = []string{ours, before}
		}
		for _, system := range systems {
			b.say("pair %d of %d, %s", run+1, b.runs, system)
			figures, err := b.life(ctx, system, b.n, compared)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
			found[system] = append(found[system], figures)
		}
	}
	b.result.Pairs = &pairsFigures{b.n, found[before], found[ours]}
	return nil
}

// copyBinary copies a binary. Of one that the linker has just written more pages become resident than of a copy: some 3 MiB.
func copyBinary(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	_, err = io.Copy(copied, source)
	return err
}

func (p *pairsFigures) table(out io.Writer) {
	fmt.Fprintf(out, "\n%d Collectors of 6 objects, %d pairs of runs; medians.\n\n"+
		"| what | phase | before | now | now ÷ before |\n|---|---|--:|--:|--:|\n",
		p.Collectors, len(p.Ours))
	row := func(what, name string, figure func(figures) float64) {
		quotients := make([]float64, len(p.Ours))
		for i := range quotients {
			quotients[i] = figure(p.Ours[i]) / figure(p.Before[i])
		}
		fmt.Fprintf(out, "| %s | %s | %.1f | %.1f | %.2f |\n",
			what, name, medianOf(p.Before, figure), medianOf(p.Ours, figure), median(quotients))
	}
	for _, name := range compared {
		row("CPU per Collector, ms", name, func(f figures) float64 { return f.Phases[name].CPUMillis })
		row("allocated per Collector, KiB", name, func(f figures) float64 { return f.Phases[name].AllocatedKiB })
	}
	row("peak memory, MiB", "all", func(f figures) float64 { return f.PeakMiB })
}

// allocated returns how many bytes the operator has allocated since it started, or 0 if its metrics cannot be read.
func (p *process) allocated(ctx context.Context) (float64, error) {
	if p.metrics == "" {
		return 0, nil
	}
	return gauge(ctx, http.DefaultClient, "http://"+p.metrics, "go_memstats_alloc_bytes_total")
}
