package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startFigures say what it takes to run an operator at all.
type startFigures struct {
	// BinaryMB is the size of the binary in MB, of a million bytes.
	BinaryMB float64 `json:"binaryMB"`

	// FirstReconcileSeconds is how long it takes from the start of the process to the first request for a Collector
	// that waits: after leader election, and with the caches filled.
	FirstReconcileSeconds float64 `json:"firstReconcileSeconds"`
}

// starting is the mode that measures what it takes to run an operator at all.
func (b *bench) starting(ctx context.Context) error {
	if err := b.populate(ctx, 1, b.secrets, b.deployments); err != nil {
		return err
	}
	b.result.Start = map[string]startFigures{}
	for _, system := range b.systems(0) {
		binary := b.operator
		if system == stock {
			binary = filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "helm-operator")
		}
		info, err := os.Stat(binary)
		if err != nil {
			return err
		}
		var seconds []float64
		for range b.runs {
			took, err := b.firstReconcile(ctx, system)
			if err != nil {
				return err
			}
			b.say("  %s: first reconcile after %.2f s", system, took.Seconds())
			seconds = append(seconds, took.Seconds())
		}
		b.result.Start[system] = startFigures{float64(info.Size()) / 1e6, median(seconds)}
	}
	return nil
}

// firstReconcile returns how long it takes from the start of an operator to its first request for a new Collector.
func (b *bench) firstReconcile(ctx context.Context, system string) (took time.Duration, err error) {
	l, fleet := &life{bench: b, system: system, n: 1}, newFleet(1, "1s")
	if err := l.create(ctx, fleet); err != nil {
		return 0, err
	}
	if err := l.start(ctx, 0, ""); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.process.stop()) }()
	if _, err := b.plane.audit.since(l.process.account); err != nil { // what was before
		return 0, err
	}
	err = poll(ctx, func() (bool, error) {
		requests, err := b.plane.audit.since(l.process.account)
		if err != nil {
			return false, err
		}
		for _, r := range requests {
			if strings.HasPrefix(r.ObjectRef.Namespace, "tenant-") {
				took = r.Received.Sub(l.process.started)
				return true, nil
			}
		}
		return false, l.process.alive()
	})
	if err != nil {
		return 0, err
	}
	if err := l.deployedAbove(ctx, 0)(); err != nil {
		return 0, err
	}
	if err := l.remove(ctx, fleet); err != nil {
		return 0, err
	}
	return took, l.gone(ctx)()
}
