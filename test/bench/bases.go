package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	// KiBPerCollector is how much more memory an operator has after a restart when each Collector has the base.
	KiBPerCollector float64 `json:"kibPerCollector"`
}

// basesPhases are what is measured: each Collector is given the base, it is changed while nothing may move, nothing happens, and the
// change may move.
var basesPhases = []struct{ name, title string }{
	{"baseGiven", "given to all"}, {"baseWaits", "changed, and paused"}, {"baseIdle", "30 s of that"}, {"baseChange", "resumed"},
}

// bases is the mode that gives a large fleet a base, and changes it.
func (b *bench) bases(ctx context.Context) error {
	n := b.options.large
	namespaces := (n-1)/perNamespace + 1
	if err := b.createNamespaces(ctx, "tenant", namespaces); err != nil {
		return err
	}
	l := &life{bench: b, system: ours, n: n, figures: figures{Phases: map[string]phase{}}}
	defer func() { _ = l.process.stop() }()
	if err := l.start(ctx, 0, ""); err != nil {
		return err
	}
	anything := func(context.Context) error { return nil }
	install := func() error { return l.create(ctx, largeFleet(n, 1, "1s")) }
	restart := func() error { return l.start(ctx, 0, "") }
	idle := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idleFor):
			return nil
		}
	}
	for _, step := range []struct {
		name         string
		begin, await func() error
	}{
		{"install", install, l.deployedAbove(ctx, 0)},
		{"restart", restart, nil},
		{"baseGiven", func() error { return l.giveBase(ctx, n) }, l.deployedAbove(ctx, 1)},
		{"baseRestart", restart, nil},
		{"baseWaits", func() error {
			if err := l.label(ctx, systemNamespace, v1alpha1.RolloutLabel, v1alpha1.RolloutHold); err != nil {
				return err
			}
			return l.writeBase(ctx, "# changed\n"+soundBase)
		}, nil},
		{"baseIdle", idle, nil},
		{"baseChange", func() error { return l.label(ctx, systemNamespace, v1alpha1.RolloutLabel, "") }, l.deployedAbove(ctx, 2)},
	} {
		if err := l.measure(ctx, step.name, step.begin, step.await, anything); err != nil {
			return err
		}
	}
	without, with := l.figures.Phases["restart"].PeakMiB, l.figures.Phases["baseRestart"].PeakMiB
	b.result.Bases = &basesFigures{n, l.figures, (with - without) * 1024 / float64(n)}
	return nil
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
	base := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: systemNamespace, Name: sharedBase, Labels: map[string]string{v1alpha1.BaseLabel: string(v1alpha1.BaseFirst)},
		},
		Data: map[string]string{"part.yaml": content},
	}
	return b.plane.client.Patch(ctx, base, client.Apply, client.FieldOwner("bench"), client.ForceOwnership)
}

// table writes what the base costs.
func (f *basesFigures) table(out io.Writer) {
	fmt.Fprintf(out, "\n%d Collectors that share one base. Each has %.2f KiB more of the operator's memory for it.\n\n"+
		"| the base is | CPU per Collector, ms | requests per Collector | done after, s |\n|---|--:|--:|--:|\n", f.Collectors, f.KiBPerCollector)
	for _, row := range basesPhases {
		phase := f.Figures.Phases[row.name]
		fmt.Fprintf(out, "| %s | %.1f | %.2f | %.0f |\n", row.title, phase.CPUMillis, phase.Requests, phase.DoneSeconds)
	}
}
