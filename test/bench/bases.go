package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// sharedBase is the name of the base that all Collectors have, soundBase its content, and brokenBase one with which kwok.yaml has no
	// pod become ready.
	sharedBase = "shared"
	soundBase  = "exporters: {debug: {}}\n"
	brokenBase = "exporters: {nowhere: {}}\n"

	// basesAnnotation is where pods have the stamp of their bases.
	basesAnnotation = "kube8.dev/bases-sha256"

	// idleFor is how long it is measured what Collectors cost that wait for a changed base.
	idleFor = 30 * time.Second
)

// stampOf returns the stamp of the shared base with a content.
func stampOf(content string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%x  base-%s.yaml\n", sha256.Sum256([]byte(content)), sharedBase)))
}

// basesFigures are what a base costs that a whole fleet shares.
type basesFigures struct {
	Collectors int     `json:"collectors"`
	Figures    figures `json:"phases"`

	// WithoutMiB and WithMiB are the memory of an operator after a restart, without and with the base: medians of its peaks.
	WithoutMiB float64 `json:"withoutMiB"`
	WithMiB    float64 `json:"withMiB"`
}

// basesPhases are what is measured: a fleet is installed without the base, another with it, the base is changed while nothing may
// move, nothing happens, and the change may move.
var basesPhases = []struct{ name, title string }{
	{"without", "not there"}, {"with", "there before the fleet"}, {"waits", "changed, and paused"}, {"idle", "30 s of that"},
	{"change", "resumed"},
}

// bases is the mode that installs a large fleet without a base and another with one, and changes the base. Memory is compared between
// fleets that have one revision each.
func (b *bench) bases(ctx context.Context) error {
	found := &basesFigures{Collectors: b.options.large, Figures: figures{Phases: map[string]phase{}}}
	for _, name := range []string{"without", "with"} {
		err := b.onPlane(ctx, "bases-"+name, func(ctx context.Context) (err error) {
			l := &life{bench: b, system: ours, n: found.Collectors, figures: found.Figures}
			defer func() { err = errors.Join(err, l.process.stop()) }()
			return l.bases(ctx, name, found)
		})
		if err != nil {
			return err
		}
	}
	b.result.Bases = found
	return nil
}

// bases measures one of the two fleets.
func (l *life) bases(ctx context.Context, name string, found *basesFigures) (err error) {
	if err := l.createNamespaces(ctx, "tenant", (l.n-1)/perNamespace+1); err != nil {
		return err
	}
	peak := &found.WithoutMiB
	if name == "with" {
		peak = &found.WithMiB
		if err := l.giveBase(ctx, l.n); err != nil {
			return err
		}
	}
	if err := l.start(ctx, 0, ""); err != nil {
		return err
	}
	if _, err := l.awaitQuiet(ctx, l.process); err != nil { // not a part of any phase
		return err
	}
	install := func() error { return l.create(ctx, largeFleet(l.n, "1s")) }
	if err := l.measure(ctx, name, install, l.deployedAbove(ctx, 0), l.countFleet(l.n, 0)); err != nil {
		return err
	}
	if *peak, err = l.peakOfRestarts(ctx); err != nil || name == "without" {
		return err
	}
	pause := func() error {
		if err := l.label(ctx, systemNamespace, v1alpha1.RolloutLabel, v1alpha1.RolloutHold); err != nil {
			return err
		}
		return l.writeBase(ctx, "# changed\n"+soundBase)
	}
	if err := l.measure(ctx, "waits", pause, nil, l.countFleet(l.n, 0)); err != nil {
		return err
	}
	idle := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idleFor):
			return nil
		}
	}
	if err := l.measure(ctx, "idle", idle, nil, l.countFleet(l.n, 0)); err != nil {
		return err
	}
	resume := func() error { return l.label(ctx, systemNamespace, v1alpha1.RolloutLabel, "") }
	return l.measure(ctx, "change", resume, l.deployedAbove(ctx, 1), l.countFleet(l.n, l.n))
}

// giveBase gives all namespaces of n Collectors the base.
func (b *bench) giveBase(ctx context.Context, n int) error {
	if err := b.writeBase(ctx, soundBase); err != nil {
		return err
	}
	names := make([]string, (n-1)/perNamespace+1)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%03d", i)
	}
	return each(ctx, writers, names, func(ctx context.Context, name string) error {
		return b.label(ctx, name, v1alpha1.BasesLabel, sharedBase)
	})
}

// label gives a namespace a label.
func (b *bench) label(ctx context.Context, namespace, label, value string) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, label, value))
	return b.plane.client.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, patch)
}

// writeBase gives the base a content. The operator's namespace may not be there yet.
func (b *bench) writeBase(ctx context.Context, content string) error {
	err := b.plane.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	base := applycorev1.ConfigMap(sharedBase, systemNamespace).WithData(map[string]string{"part.yaml": content}).
		WithLabels(map[string]string{v1alpha1.BaseLabel: string(v1alpha1.BaseFirst)})
	return b.plane.client.Apply(ctx, base, client.FieldOwner("bench"), client.ForceOwnership)
}

// table writes what the base costs.
func (f *basesFigures) table(out io.Writer) {
	fmt.Fprintf(out, "\n%d Collectors that share one base. Without it an operator has %.0f MiB after a restart, with it %.0f MiB: "+
		"%.2f KiB more for each.\n\n| the base is | CPU per Collector, ms | requests per Collector | done after, s |\n|---|--:|--:|--:|\n",
		f.Collectors, f.WithoutMiB, f.WithMiB, (f.WithMiB-f.WithoutMiB)*1024/float64(f.Collectors))
	for _, row := range basesPhases {
		phase := f.Figures.Phases[row.name]
		fmt.Fprintf(out, "| %s | %.1f | %.2f | %.0f |\n", row.title, phase.CPUMillis, phase.Requests, phase.DoneSeconds)
	}
}
