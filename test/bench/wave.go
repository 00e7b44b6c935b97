package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// brokenWaves is how often the operator brings a chart whose pods never become ready, and waveKills how often it is killed
	// in each.
	brokenWaves, waveKills = 5, 2

	// waveKillWithin is how long an operator runs at most before it is killed, but for the time until a wave has begun.
	waveKillWithin = 5 * time.Second

	// waveBudget is how many of the Collectors may be broken: the operator's default.
	waveBudget = "5%"

	// waveDeadline is how long a Collector may take to become ready.
	waveDeadline = 20 * time.Second
)

// waveFigures say how far charts come whose pods never become ready.
type waveFigures struct {
	Collectors int    `json:"collectors"`
	Budget     int    `json:"budget"`
	Seed       uint64 `json:"seed"`
	Waves      []wave `json:"waves"`

	// Base says that the change is a base, and no chart.
	Base bool `json:"base,omitempty"`
}

// wave is that of one such chart.
type wave struct {
	// KilledAt is how many Collectors were broken when the operator was killed.
	KilledAt []int `json:"killedAt"`

	// Most is how many were broken at once, at most.
	Most int `json:"brokenAtMost"`

	// HeldSeconds is how long it took from the first start of the operator with that chart until the wave held, and
	// MendedSeconds from its start with the chart of before until all were ready.
	HeldSeconds   float64 `json:"heldSeconds"`
	MendedSeconds float64 `json:"mendedSeconds"`
}

// waving is the mode that has the operator bring charts or bases whose pods never become ready, and kills it meanwhile. It fails if
// more Collectors than the budget are broken at once.
func (b *bench) waving(ctx context.Context, byBase bool) (err error) {
	allowed := intstr.FromString(waveBudget)
	budget, err := intstr.GetScaledValueFromIntOrPercent(&allowed, b.wave, false)
	if err != nil {
		return err
	}
	w := &waver{life: &life{bench: b, system: ours, n: b.wave}, budget: budget, byBase: byBase, broken: b.roots[0]}
	if !byBase {
		if w.broken, err = b.writeBrokenRoot(); err != nil {
			return err
		}
	}
	w.random = rand.New(rand.NewPCG(b.seed, 0)) //nolint:gosec // the moments of kills, which a seed repeats
	w.controllers, err = b.plane.startControllers(ctx)
	defer func() { err = errors.Join(err, w.process.stop(), w.controllers.stop()) }()
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	if w.breakage, err = followBreakage(following, b.plane.env.Config); err != nil {
		return err
	}
	if err := b.createNamespaces(ctx, "tenant", (b.wave-1)/perNamespace+1); err != nil {
		return err
	}
	if byBase {
		if err := b.giveBase(ctx, b.wave); err != nil {
			return err
		}
	}
	if err := w.run(ctx, b.roots[0], "100%"); err != nil {
		return err
	}
	if err := w.create(ctx, largeFleet(b.wave, "1s")); err != nil {
		return err
	}
	if err := w.awaitReady(ctx); err != nil {
		return err
	}
	found := &waveFigures{Collectors: b.wave, Budget: budget, Seed: b.seed, Base: byBase}
	if byBase {
		b.result.BaseWave = found
	} else {
		b.result.Wave = found
	}
	for i := range brokenWaves {
		one, err := w.wave(ctx)
		if err != nil {
			return fmt.Errorf("wave %d: %w", i+1, err)
		}
		b.say("  wave %d: %+v", i+1, one)
		found.Waves = append(found.Waves, one)
	}
	return nil
}

// writeBrokenRoot writes a folder that an operator runs in, with the chart whose pods never become ready.
func (b *bench) writeBrokenRoot() (string, error) {
	roots, err := writeRoots(filepath.Join(b.dir, "broken"))
	if err != nil {
		return "", err
	}
	const labels = "{{- define \"collector.ownPodLabels\" -}}\n"
	return roots[0], edit(filepath.Join(roots[0], "helm-charts", "collector", "templates", "_helpers.tpl"), labels,
		labels+pullLabel+": \"fails\"\n")
}

// waver is an operator that brings such charts.
type waver struct {
	*life
	budget      int
	byBase      bool
	broken      string // the folder with the chart whose pods never become ready
	random      *rand.Rand
	controllers processes
	breakage    *breakage
	metrics     string // the operator's address for them
}

// run starts the operator in a folder, in place of the one that runs.
func (w *waver) run(ctx context.Context, root, budget string) (err error) {
	if err := w.process.stop(); err != nil {
		return err
	}
	if w.metrics, err = freeAddress(); err != nil {
		return err
	}
	w.process, err = w.operate(ctx, ours, root, "", "--rollout-budget="+budget, "--rollout-deadline="+waveDeadline.String(),
		"--metrics-bind-address="+w.metrics, "--metrics-secure=false")
	return err
}

// wave has the operator bring the change, kills it, waits until the wave holds, and goes back to what was before.
func (w *waver) wave(ctx context.Context) (found wave, err error) {
	began := time.Now()
	w.breakage.forget()
	if err := w.run(ctx, w.broken, waveBudget); err != nil {
		return found, err
	}
	if w.byBase {
		if err := w.writeBase(ctx, brokenBase); err != nil {
			return found, err
		}
	}
	for range waveKills {
		reached, moment := w.random.IntN(w.budget), w.process.started.Add(time.Duration(w.random.Int64N(int64(waveKillWithin))))
		if err := w.until(ctx, func() bool { return w.breakage.now() > reached && time.Now().After(moment) }); err != nil {
			return found, fmt.Errorf("wait until more than %d Collectors are broken: %w", reached, err)
		}
		if err := w.process.kill(); err != nil {
			return found, err
		}
		found.KilledAt = append(found.KilledAt, w.breakage.now())
		if err := w.run(ctx, w.broken, waveBudget); err != nil {
			return found, err
		}
	}
	held := func() bool {
		waiting, err := gauge(ctx, http.DefaultClient, "http://"+w.metrics, `kube8_rollout_collectors{state="held"}`)
		return err == nil && int(waiting) == w.n-w.budget
	}
	if err := w.until(ctx, held); err != nil {
		return found, fmt.Errorf("wait until the wave holds, with %d broken Collectors: %w", w.breakage.now(), err)
	}
	found.HeldSeconds = time.Since(began).Seconds()
	began = time.Now()
	if w.byBase {
		if err := w.writeBase(ctx, soundBase); err != nil {
			return found, err
		}
	}
	if err := w.run(ctx, w.roots[0], "100%"); err != nil {
		return found, err
	}
	if err := w.awaitReady(ctx); err != nil {
		return found, err
	}
	found.MendedSeconds, found.Most = time.Since(began).Seconds(), w.breakage.atMost()
	return found, nil
}

// awaitReady waits until all Collectors are ready and none waits for a change.
func (w *waver) awaitReady(ctx context.Context) error {
	err := poll(ctx, func() (bool, error) {
		return w.breakage.settled(w.n), errors.Join(w.process.alive(), w.controllers.alive())
	})
	if err != nil {
		return fmt.Errorf("wait until all Collectors are ready, of which %d are not: %w", w.breakage.now(), err)
	}
	return nil
}

// until waits for something, and fails if more Collectors than the budget are broken.
func (w *waver) until(ctx context.Context, done func() bool) error {
	return poll(ctx, func() (bool, error) {
		if most := w.breakage.atMost(); most > w.budget {
			return false, fmt.Errorf("%d Collectors are broken at once, of which the budget allows %d: %s", most, w.budget, w.breakage.worst)
		}
		return done(), errors.Join(w.process.alive(), w.controllers.alive())
	})
}

// table writes how far the charts came.
func (f *waveFigures) table(out io.Writer) {
	change := "chart"
	if f.Base {
		change = "base"
	}
	fmt.Fprintf(out, "\n%d Collectors with pods, and a "+change+" whose pods never become ready, brought %d times with a budget of %d. "+
		"The operator is killed %d times in each wave, at moments of seed %d.\n\n"+
		"| wave | broken when it was killed | broken at once, at most | held after, s | mended after, s |\n|--:|--:|--:|--:|--:|\n",
		f.Collectors, len(f.Waves), f.Budget, waveKills, f.Seed)
	for i, one := range f.Waves {
		killed := strings.Trim(strings.ReplaceAll(fmt.Sprint(one.KilledAt), " ", ", "), "[]")
		fmt.Fprintf(out, "| %d | %s | %d | %.0f | %.0f |\n", i+1, killed, one.Most, one.HeldSeconds, one.MendedSeconds)
	}
}
