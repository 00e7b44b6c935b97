package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// fleet is the mode that compares the operators, phase by phase, and with the floor.
func (b *bench) fleet(ctx context.Context) error {
	if err := b.populate(ctx, b.n, b.secrets, b.deployments); err != nil {
		return err
	}
	runs := map[string][]figures{}
	for run := range b.runs {
		for _, system := range b.systems(run) {
			b.say("run %d of %d, %s", run+1, b.runs, system)
			figures, err := b.life(ctx, system, b.n, b.phases)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
			runs[system] = append(runs[system], figures)
		}
		b.say("run %d of %d, floor", run+1, b.runs)
		figures, err := b.floor(ctx)
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		runs[floorAccount] = append(runs[floorAccount], figures)
	}
	b.result.setFleet(medianFigures(runs[ours]), medianFigures(runs[stock]), medianFigures(runs[floorAccount]))
	return nil
}

// life is one operator's way through the phases.
type life struct {
	*bench
	system  string
	n       int
	process *process
	figures figures
}

// life measures the phases of one operator, from a cluster without Collectors to a cluster without Collectors.
func (b *bench) life(ctx context.Context, system string, n int, phases []string) (figures, error) {
	l := &life{bench: b, system: system, n: n, figures: figures{Phases: map[string]phase{}}}
	err := l.run(ctx, phases)
	return l.figures, errors.Join(err, l.process.stop())
}

func (l *life) run(ctx context.Context, phases []string) error {
	fleet, timeout := newFleet(l.n, "1s"), "1s"
	if err := l.start(ctx, 0, ""); err != nil {
		return err
	}
	if _, err := l.awaitQuiet(ctx, l.process); err != nil { // not a part of any phase
		return err
	}
	err := l.measure(ctx, "install", l.profiled(ctx, "install", func() error { return l.create(ctx, fleet) }),
		l.deployedAbove(ctx, 0), l.has(0, l.n, timeout))
	if err != nil {
		return err
	}
	if slices.Contains(phases, "restart") {
		revision := l.releases.revision()
		err := l.measure(ctx, "restart", func() error { return l.start(ctx, 0, "restart") }, nil, l.has(0, l.n, timeout))
		if err != nil {
			return err
		}
		if l.releases.revision() != revision {
			return errors.New("restart: nothing changed, but there are new revisions")
		}
	}
	if slices.Contains(phases, "configChange") {
		timeout = "2s"
		act := l.profiled(ctx, "configChange", func() error { return l.configure(ctx, newFleet(l.n, timeout)) })
		err := l.measure(ctx, "configChange", act, l.deployedAbove(ctx, l.releases.revision()), l.has(0, l.n, timeout))
		if err != nil {
			return err
		}
	}
	if slices.Contains(phases, "chartUpgrade") {
		act := func() error { return l.start(ctx, 1, "chartUpgrade") }
		err := l.measure(ctx, "chartUpgrade", act, l.deployedAbove(ctx, l.releases.revision()), l.has(1, l.n, timeout))
		if err != nil {
			return err
		}
	}
	err = l.measure(ctx, "delete", l.profiled(ctx, "delete", func() error { return l.remove(ctx, fleet) }), l.gone(ctx), l.has(0, 0, timeout))
	for name := range l.figures.Phases {
		if !slices.Contains(phases, name) {
			delete(l.figures.Phases, name) // it only had to be
		}
	}
	return err
}

// start starts the operator, in place of the one that runs. The phase is the one that its profile begins with, if any.
func (l *life) start(ctx context.Context, root int, phase string) (err error) {
	if err := l.process.stop(); err != nil {
		return err
	}
	l.process, err = l.operate(ctx, l.system, l.roots[root], phase)
	return err
}

// deployedAbove returns what waits until all releases are deployed in a revision above another one. The peer has none: it is
// done when it is quiet.
func (l *life) deployedAbove(ctx context.Context, revision int) func() error {
	if l.system == peer {
		return nil
	}
	return func() error { return l.releases.await(ctx, l.process, l.n, revision) }
}

// gone returns what waits until there is nothing left of the fleet. The peer leaves its objects to Kubernetes, and the control
// plane has no garbage collector.
func (l *life) gone(ctx context.Context) func() error {
	if l.system == peer {
		return func() error { return l.removeOfPeer(ctx) }
	}
	return func() error { return l.releases.awaitGone(ctx, l.process) }
}

// has returns what checks that the cluster has exactly what n Collectors become with the chart in one of the roots.
func (l *life) has(root, n int, timeout string) func(context.Context) error {
	return func(ctx context.Context) error {
		if l.system == peer {
			return l.verifyPeer(ctx, n, timeout)
		}
		wanted, err := renderFleet(ctx, l.roots[root], newFleet(n, timeout))
		if err != nil {
			return err
		}
		return l.verify(ctx, wanted)
	}
}

// measure measures a phase: what begins it, and what ends it, apart from the operator's quiet. A phase that starts
// another operator is measured from that one's start. Without await, the phase is done when the operator is quiet. In the
// end it checks what the cluster has.
func (l *life) measure(ctx context.Context, name string, begin, await func() error, check func(context.Context) error) error {
	if _, err := l.plane.audit.since(l.process.account); err != nil { // what was before
		return err
	}
	used, err := l.process.cpu()
	if err != nil {
		return err
	}
	allocated, err := l.process.allocated(ctx)
	if err != nil {
		return err
	}
	former, began := l.process, time.Now()
	if err := begin(); err != nil {
		return err
	}
	if l.process != former {
		used, allocated, began = 0, 0, l.process.started
	}
	if await != nil {
		if err := await(); err != nil {
			return err
		}
	}
	done := time.Now()
	quiet, err := l.awaitQuiet(ctx, l.process)
	if err != nil {
		return err
	}
	if err := l.askProfiler(ctx, "/stop"); err != nil {
		return err
	}
	if await == nil {
		done = quiet.since
	}
	now, peak, err := l.process.memory()
	if err != nil {
		return err
	}
	until, err := l.process.allocated(ctx)
	if err != nil {
		return err
	}
	measured := phase{
		AllocatedKiB: perCollector((until-allocated)/1024, l.n),
		DoneSeconds:  done.Sub(began).Seconds(),
		QuietSeconds: quiet.since.Sub(began).Seconds(),
		CPUMillis:    perCollector(float64(quiet.cpu-used)/float64(time.Millisecond), l.n),
		Writes:       perCollector(float64(quiet.writes), l.n),
		RSSMiB:       now,
		PeakMiB:      peak,
		ByKind:       map[string]float64{},
	}
	for kind, count := range quiet.requests {
		measured.ByKind[kind] = perCollector(float64(count), l.n)
		measured.Requests += measured.ByKind[kind]
	}
	l.figures.Phases[name] = measured
	l.figures.PeakMiB = max(l.figures.PeakMiB, peak)
	l.say("  %-12s done after %.1f s, quiet after %.1f s: %.1f ms, %.1f requests, %.1f writes per Collector, peak %.0f MiB",
		name, measured.DoneSeconds, measured.QuietSeconds, measured.CPUMillis, measured.Requests, measured.Writes, peak)
	if err := check(ctx); err != nil {
		return fmt.Errorf("after %s: %w", name, err)
	}
	return nil
}

func perCollector(sum float64, n int) float64 { return sum / float64(n) }
