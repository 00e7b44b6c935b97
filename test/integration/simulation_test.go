package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube8/kube8-operator/test/simulation"
)

// sideBySide is how many schedules run at a time. What happens to the operator happens to all of them.
const sideBySide = 40

// run is one schedule on the API server.
type simulatedRun struct {
	schedule simulation.Schedule
	spaces   []*space
	twins    []*space
	err      error
}

// simulationNumber returns a number from the environment.
func simulationNumber(name string, otherwise int) int {
	if number, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return number
	}
	return otherwise
}

// Not parallel: it kills and restarts the shared operator. The schedules are those of the model (internal/reconcile, TestSimulation).
// SEED is the first one, SCHEDULES their number.
func TestTheOperatorEndsAsTheModelSays(t *testing.T) {
	first, count := simulationNumber("SEED", 1), simulationNumber("SCHEDULES", 200)
	startRefusing(t)
	w, began, violations, events := watchAll(t), time.Now(), 0, 0
	p := newProxy(t, "--rollout-budget=100%", "--rollout-deadline=3s", "--max-concurrent-reconciles=8")
	p.inject(p.losesAnswers(w.spaceOf))
	direct := shared.args
	for from := 0; from < count; from += sideBySide {
		var runs []*simulatedRun
		for number := range min(sideBySide, count-from) {
			runs = append(runs, &simulatedRun{schedule: simulation.New(uint64(first + from + number))})
			events += len(runs[number].schedule.Events)
		}
		violations += runSideBySide(t, w, direct, runs)
	}
	recordFigure(t, "Simulated schedules on a real API server", count)
	recordFigure(t, "Events in these schedules", events)
	recordFigure(t, "Violations of safety rules by these schedules", violations)
	t.Logf("simulation: %d schedules, %d events, %.1f s, %d violations", count, events, time.Since(began).Seconds(), violations)
}

// runSideBySide runs schedules, and returns how many of them violate a rule.
func runSideBySide(t *testing.T, w *watcher, direct []string, runs []*simulatedRun) (violations int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	each := func(do func(*simulatedRun) error) chan struct{} {
		var running sync.WaitGroup
		for _, r := range runs {
			running.Go(func() {
				if r.err == nil {
					r.err = do(r)
				}
			})
		}
		all := make(chan struct{})
		go func() { running.Wait(); close(all) }()
		return all
	}
	operators := make(chan simulation.Event, 1000)
	done := each(func(r *simulatedRun) error { return r.happens(ctx, w, operators) })
	disturbOperator(t, direct, operators, done)

	since := time.Now()
	<-each(func(r *simulatedRun) error { return r.eachSpace(func(s *space) error { return s.calm(ctx) }) })
	restarted := shared.log.mark()
	restart(t, shared.args) // the delays of retries begin anew
	awaitAllReconciled(t, restarted, runs)
	<-each(func(r *simulatedRun) error { return r.decides(ctx) })
	// What is new goes before what an operator finds when it starts, so twins would delay the others.
	<-each(func(r *simulatedRun) error { return r.ends(ctx, w) })
	revive(t)
	t.Logf("settled after %s", time.Since(since))
	quiet := plane.audit.mark(t)
	_ = wait.PollUntilContextTimeout(ctx, time.Second, time.Second, false, func(context.Context) (bool, error) { return true, nil })
	for _, r := range runs {
		for _, s := range r.spaces {
			if writes := plane.audit.writes(t, quiet, s.namespace); r.err == nil && len(writes) > 0 && s.refused() == "" {
				r.err = fmt.Errorf("S8: %s is written while nothing changes: %s", s.namespace, strings.Join(writes, ", "))
			}
		}
	}
	<-each(func(r *simulatedRun) error { return r.goes(ctx) })
	for _, r := range runs {
		for _, s := range r.spaces {
			if broken := s.referee(); len(broken) > 0 && r.err == nil {
				r.err = fmt.Errorf("%s: %s", s.namespace, strings.Join(broken, "\n"))
			}
			w.histories.Delete(s.namespace)
		}
		if r.err == nil {
			continue
		}
		violations++
		t.Errorf("%s%v", r.schedule, r.err)
		_ = r.goes(ctx) // other tests need to be alone
		for _, s := range r.spaces {
			if strings.Contains(r.err.Error(), s.namespace) {
				t.Log(s.tell())
			}
		}
	}
	return violations
}

// disturbOperator kills the operator once, and starts one with another chart once, when schedules say so, until all have ended.
func disturbOperator(t *testing.T, direct []string, events chan simulation.Event, done chan struct{}) {
	t.Helper()
	happened := map[simulation.Action]bool{}
	for {
		select {
		case <-done:
			return
		case e := <-events:
			if happened[e.Action] {
				continue
			}
			happened[e.Action] = true
			if e.Action == simulation.Restart {
				args := slices.Clone(direct)
				if e.N > 1 {
					args = append(args, fmt.Sprintf("--collector-registry=chart-%d.example.com", e.N))
				}
				restart(t, args)
				continue
			}
			if err := shared.kill(); err != nil {
				t.Fatal(err)
			}
			forgetLeader(t)
			if err := shared.start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (r *simulatedRun) eachSpace(do func(*space) error) error {
	for _, s := range r.spaces {
		if err := do(s); err != nil {
			return fmt.Errorf("%s: %w", s.namespace, err)
		}
	}
	return nil
}

// happens has all events take place.
func (r *simulatedRun) happens(ctx context.Context, w *watcher, operators chan<- simulation.Event) error {
	for range r.schedule.Collectors {
		s, err := newSpace(ctx, w, simulation.First())
		if err != nil {
			return err
		}
		w.spaces.Store(s.namespace, s)
		r.spaces = append(r.spaces, s)
	}
	for i, event := range r.schedule.Events {
		s := r.spaces[event.Collector%len(r.spaces)]
		if err := s.happen(ctx, event); err != nil {
			return fmt.Errorf("%s: event %d, %s: %w", s.namespace, i+1, event, err)
		}
		switch {
		case event.Action == simulation.Kill || event.Action == simulation.Restart:
			operators <- event
		case event.Rounds >= 5:
			s.await(ctx, 500*time.Millisecond, s.isDone)
		case event.Rounds > 0:
			s.await(ctx, 200*time.Millisecond, s.isObserved)
		}
	}
	return nil
}

// awaitAllReconciled waits until the operator has looked at each Collector since a mark: only then its time begins.
func awaitAllReconciled(t *testing.T, mark int, runs []*simulatedRun) {
	t.Helper()
	NewWithT(t).Eventually(func() (left []string) {
		reconciled := map[string]bool{}
		for _, line := range shared.log.ends(mark) {
			reconciled[line.Object.Namespace] = true
		}
		for _, r := range runs {
			for _, s := range r.spaces {
				if r.err == nil && s.status() != nil && !reconciled[s.namespace] {
					left = append(left, s.namespace)
				}
			}
		}
		return left
	}).WithTimeout(3*time.Minute).WithPolling(time.Second).Should(BeEmpty(), "namespaces of Collectors that the restarted operator has not looked at")
}

// decides waits until the operator has done with the last spec of each Collector.
func (r *simulatedRun) decides(ctx context.Context) error {
	return r.eachSpace(func(s *space) error {
		why := ""
		if !s.awaitSlowly(ctx, 40*time.Second, func() bool { why = s.undecided(); return why == "" }) {
			return fmt.Errorf("S6: %s", why)
		}
		return nil
	})
}

// ends waits until each Collector is as an undisturbed one with its last accepted spec.
func (r *simulatedRun) ends(ctx context.Context, w *watcher) error {
	return r.eachSpace(func(s *space) error {
		why := ""
		twin, err := s.startTwin(ctx, w)
		if err != nil {
			return err
		}
		if twin != nil {
			r.twins = append(r.twins, twin)
		}
		if !s.awaitSlowly(ctx, 40*time.Second, func() bool { why = s.unlike(twin); return why == "" }) {
			return fmt.Errorf("S6: %s", why)
		}
		return nil
	})
}

// goes deletes the Collectors: nothing outlives them.
func (r *simulatedRun) goes(ctx context.Context) error {
	for _, s := range append(slices.Clone(r.spaces), r.twins...) {
		if err := s.happen(ctx, simulation.Event{Action: simulation.DeleteCollector}); err != nil {
			return err
		}
	}
	return r.eachSpace(func(s *space) error {
		why := ""
		if !s.awaitSlowly(ctx, 60*time.Second, func() bool { why = s.unlike(nil); return why == "" }) {
			return fmt.Errorf("S5: %s", why)
		}
		return nil
	})
}
