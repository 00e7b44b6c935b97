package reconcile

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simResult is how a schedule has ended.
type simResult struct {
	violation string
	steps     int
	lines     []string
}

// simRunner runs schedules, one after the other.
type simRunner struct {
	charts  *simCharts
	metrics *metrics.Metrics
	mutate  func(*Clients)
}

func init() { log.SetLogger(logr.Discard()) }

func newSimRunner(mutate func(*Clients)) *simRunner {
	return &simRunner{&simCharts{}, metrics.New(prometheus.NewRegistry()), mutate}
}

func (r *simRunner) run(schedule simulation.Schedule, tracing bool) (result simResult) {
	w := newSimWorld(schedule, r.charts, r.metrics, r.mutate)
	w.tracing = tracing
	defer func() {
		if cause := recover(); cause != nil {
			result = simResult{fmt.Sprintf("panic: %v", cause), w.steps, w.lines}
			if tracing {
				panic(cause)
			}
		}
	}()
	for i, event := range schedule.Events {
		w.trace("%3d %s", i+1, event)
		if event.At > 0 {
			w.later, w.laterAt = append(w.later, event), w.requests
		} else {
			w.happen(event)
		}
		for range event.Rounds {
			w.round()
		}
		if w.violation != "" {
			return simResult{w.violation, w.steps, w.lines}
		}
	}
	w.finish()
	return simResult{w.violation, w.steps, w.lines}
}

// simNumber returns a number from the environment.
func simNumber(name string, otherwise int) int {
	if number, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return number
	}
	return otherwise
}

// rule is the name of the rule that is violated.
func (r simResult) rule() string {
	rule, _, _ := strings.Cut(r.violation, ":")
	return rule
}

// TestSimulation runs schedules against the release client and a cluster in memory. SEED is the first one, SCHEDULES their number.
func TestSimulation(t *testing.T) {
	first, count := simNumber("SEED", 1), simNumber("SCHEDULES", 20000)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	began := time.Now()
	var next, steps, violations atomic.Int64
	var told sync.Mutex
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			runner := newSimRunner(nil)
			for {
				number := int(next.Add(1)) - 1
				if number >= count {
					return
				}
				schedule := simulation.New(uint64(first + number))
				result := runner.run(schedule, false)
				steps.Add(int64(result.steps))
				if result.violation == "" {
					continue
				}
				if violations.Add(1) <= int64(simNumber("TELL", 3)) {
					told.Lock()
					simTell(t, runner, schedule, result)
					told.Unlock()
				} else {
					t.Fail()
				}
			}
		})
	}
	working.Wait()
	fmt.Printf("simulation: %d schedules, %d steps, %.1f s, %d violations\n", count, steps.Load(), time.Since(began).Seconds(), violations.Load())
}

func TestTheSchedulesThatOnceShowedADefectEndAsTheyShould(t *testing.T) {
	for _, seed := range []uint64{
		31448604, 910023924, 950007255, 1080147096, 1090042912, 1110095868, 1130016955, 1150000934, 1150011555, 1180137527, 1220013056, 1250003926,
		1280118587,
	} {
		runner, schedule := newSimRunner(nil), simulation.New(seed)
		if result := runner.run(schedule, false); result.violation != "" {
			simTell(t, runner, schedule, result)
		}
	}
}

// simTell shows a violation: the events that are left of the schedule when others are dropped, and what was asked of the cluster.
func simTell(t *testing.T, runner *simRunner, schedule simulation.Schedule, result simResult) {
	t.Helper()
	rule := result.rule()
	short := simulation.Shrink(schedule, func(fewer simulation.Schedule) bool { return runner.run(fewer, false).rule() == rule })
	again := runner.run(short, true)
	lines := again.lines
	if most := simNumber("LINES", 200); len(lines) > most {
		lines = append([]string{"..."}, lines[len(lines)-most:]...)
	}
	t.Errorf("seed %d: %s\n%s\n%s\n%s", schedule.Seed, result.violation, short, strings.Join(lines, "\n"), again.violation)
}

func TestWhatIsRefusedIsNotRenderedAgain(t *testing.T) {
	w := newSimWorld(simulation.Schedule{Collectors: 1}, &simCharts{}, metrics.New(prometheus.NewRegistry()), nil)
	for i, event := range []simulation.Event{
		{Action: simulation.Pass, N: 60},
		{Action: simulation.Edit, Field: "configuration", Value: strconv.Itoa(simulation.Broken)},
		{Action: simulation.Edit, Field: "ports", Value: "2"},
	} {
		w.happen(event)
		w.pass(time.Hour)
		if w.refused != i || w.violation != "" {
			t.Errorf("after %s, a broken configuration was rendered %d times, want %d %s", event, w.refused, i, w.violation)
		}
	}
}
