package main

import (
	"context"
	"errors"
)

// memoryFigures say what unrelated Secrets cost an operator in memory: its peak after a restart, in MiB.
type memoryFigures struct {
	Secrets    int     `json:"unrelatedSecrets"`
	WithoutMiB float64 `json:"withoutMiB"`
	WithMiB    float64 `json:"withMiB"`
	GrowthMiB  float64 `json:"growthMiB"`

	// LiveGrowthMiB is how much the peak of an operator grew that ran while the Secrets came.
	LiveGrowthMiB float64 `json:"liveGrowthMiB"`
}

// memory is the mode that measures what unrelated Secrets cost.
func (b *bench) memory(ctx context.Context) (err error) {
	if err := b.populate(ctx, b.n, 0, b.deployments); err != nil {
		return err
	}
	l := &life{bench: b, system: ours, n: b.n, figures: figures{Phases: map[string]phase{}}}
	defer func() { err = errors.Join(err, l.process.stop()) }()
	if err := l.install(ctx); err != nil {
		return err
	}
	found := &memoryFigures{Secrets: b.memorySecrets}
	if found.WithoutMiB, err = l.peakOfRestarts(ctx); err != nil {
		return err
	}
	_, before, err := l.process.memory()
	if err != nil {
		return err
	}
	if err := b.populate(ctx, b.n, b.memorySecrets, 0); err != nil {
		return err
	}
	if _, err := b.awaitQuiet(ctx, l.process); err != nil {
		return err
	}
	_, after, err := l.process.memory()
	if err != nil {
		return err
	}
	if found.WithMiB, err = l.peakOfRestarts(ctx); err != nil {
		return err
	}
	found.GrowthMiB, found.LiveGrowthMiB = found.WithMiB-found.WithoutMiB, after-before
	b.result.Memory = found
	return nil
}

// install creates the fleet and waits until the operator has nothing to do any more.
func (l *life) install(ctx context.Context) error {
	if err := l.start(ctx, 0, ""); err != nil {
		return err
	}
	if err := l.create(ctx, newFleet(l.n, "1s")); err != nil {
		return err
	}
	if err := l.releases.await(ctx, l.process, l.n, 0); err != nil {
		return err
	}
	_, err := l.awaitQuiet(ctx, l.process)
	return err
}

// peakOfRestarts returns the median of the most memory that the operator has until it is quiet after a restart, in MiB.
func (l *life) peakOfRestarts(ctx context.Context) (float64, error) {
	var peaks []float64
	for range l.runs {
		if err := l.start(ctx, 0, ""); err != nil {
			return 0, err
		}
		if _, err := l.awaitQuiet(ctx, l.process); err != nil {
			return 0, err
		}
		_, peak, err := l.process.memory()
		if err != nil {
			return 0, err
		}
		l.say("  restarted: peak %.1f MiB", peak)
		peaks = append(peaks, peak)
	}
	return median(peaks), nil
}
