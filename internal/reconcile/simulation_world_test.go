package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/queue"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/internal/sources"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simFault is something that happens at the request that it counts down to.
type simFault struct {
	in  int
	how string
}

// simWorld is a cluster in memory, the operator, and all that happens to them.
type simWorld struct {
	rand     *rand.Rand
	now      time.Time
	schedule simulation.Schedule
	spaces   []*simSpace
	charts   *simCharts
	metrics  *metrics.Metrics
	mutate   func(*Clients) // takes a mend out; nil for the operator as it is

	deciding  *simSpace // whose reconcile runs
	operator  *simOperatorProcess
	chart     int
	base      int  // its content
	hashes    int  // tells apart how operators hash
	brings    bool // the operator has brought a change
	killed    bool
	faults    [2]simFault // kill, timeout
	later     []simulation.Event
	laterAt   int // requests until then
	idle      bool
	pods      int
	requests  int
	reads     int    // of users' Secrets, and the first one of a record since the operator started
	told      int    // how often a status was written
	refused   int    // how often a broken configuration was rendered
	nextChart string // of the operator that comes after a kill, or empty for the same

	steps, reconciles int

	tracing   bool
	lines     []string
	violation string
}

// simOperatorProcess is an operator from its start to its end.
type simOperatorProcess struct {
	clients *Clients
	backoff *queue.Backoff
	chart   int
}

var simStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newSimWorld(schedule simulation.Schedule, charts *simCharts, metered *metrics.Metrics, mutate func(*Clients)) *simWorld {
	w := &simWorld{
		rand: rand.New(rand.NewPCG(schedule.Seed, 1)), now: simStart, schedule: schedule, charts: charts, metrics: metered,
		mutate: mutate, chart: 1,
	}
	for i := range schedule.Collectors {
		s := &simSpace{world: w, number: i, completed: map[string]bool{}, neverReady: map[int]bool{}, verdicts: map[int]string{}, dies: map[int]bool{}}
		s.proven = map[string]bool{}
		s.stopped, s.objects, s.cache = map[string]bool{}, map[live.Reference]*simObject{}, map[live.Reference]*simObject{}
		s.create()
		w.spaces = append(w.spaces, s)
	}
	w.start()
	return w
}

// start starts an operator, which knows nothing.
func (w *simWorld) start() {
	if chart, err := strconv.Atoi(w.nextChart); err == nil && w.killed {
		w.chart = chart
	}
	w.killed, w.faults, w.nextChart = false, [2]simFault{}, ""
	w.operator = w.newOperator()
	for _, s := range w.spaces {
		s.dirty, s.recalled = s.exists, 0
		s.list()
		s.recalls()
	}
}

// simPeriod is how often a Collector is reconciled although nothing happens.
const simPeriod = 3 * time.Hour

func (w *simWorld) newOperator() *simOperatorProcess {
	o := &simOperatorProcess{chart: w.chart, backoff: queue.NewBackoff(func() time.Time { return w.now })}
	waves := &rollout.Waves{
		Budget: intstr.FromInt32(1), Deadline: 5 * time.Minute, Events: simEvents{}, Count: func(rollout.Counts) {},
		Now:     func() time.Time { return w.now },
		Requeue: func(collector client.Object) { w.of(collector).dirty = true },
		Fleet: func(context.Context) (fleet []unstructured.Unstructured, _ error) {
			for _, s := range w.spaces {
				if s.exists {
					fleet = append(fleet, *s.collector())
				}
			}
			return fleet, nil
		},
	}
	waves.Reset()
	source := &history.Source{
		Chart: &render.Chart{Digest: strconv.Itoa(o.chart)}, Build: "model",
		Served: func(context.Context) (*render.Served, error) { return &render.Served{Version: "all"}, nil },
		Bases:  func(context.Context, *unstructured.Unstructured) (sources.Bases, error) { return simBases(w.base) },
		Versions: func(collector *unstructured.Unstructured) (string, string) {
			if s := w.of(collector); s.spec.Effective().Configuration == 0 {
				return strconv.Itoa(s.cachedSecret), ""
			}
			return "", ""
		},
	}
	o.clients = &Clients{
		Options: Options{
			Source: source, Events: simEvents{}, Metrics: w.metrics, Waves: waves, Period: simPeriod,
			BackingOff: o.backoff.IsWaiting,
		},
		now:  func() time.Time { return w.now },
		live: simReader{w}, revisions: simRevisions{source, w, o.chart},
		clusterOf: func(collector *unstructured.Unstructured) apply.Cluster { return simCluster{w.of(collector)} },
		recordsOf: func(r *reconcile) records { return w.of(r.collector).recordsOf(r) },
		decision:  plan.Decide,
		together: func(count int, do func(int)) {
			for _, i := range w.rand.Perm(count) {
				do(i)
			}
		},
	}
	if w.mutate != nil {
		w.mutate(o.clients)
	}
	decides := o.clients.decision
	o.clients.decision = func(s plan.Situation) plan.Plan {
		w.deciding.view, w.deciding.decidedBy, w.deciding.orphans = s.View.Objects, slices.Clone(w.deciding.cacheOf), int(s.View.Orphans)
		w.deciding.earlier = append(w.deciding.earlier, w.deciding.decidedBy...)
		if w.deciding.promoted, w.deciding.retried = "", false; s.Canary != nil {
			w.deciding.promoted, w.deciding.retried = s.Canary.Promoted, s.Canary.Aborted != s.Canary.Last.Hash
		}
		return decides(s)
	}
	return o
}

// simBases returns the base that all Collectors share, with a content.
func simBases(content int) (sources.Bases, error) {
	switch content {
	case 0:
		return nil, nil
	case simulation.Missing:
		return nil, errors.New("the base is not there")
	}
	return sources.Bases{{Name: "shared", Version: strconv.Itoa(content)}}, nil
}

// of returns the namespace of a Collector.
func (w *simWorld) of(collector client.Object) *simSpace {
	number, _ := strconv.Atoi(strings.TrimPrefix(collector.GetNamespace(), "ns"))
	return w.spaces[number]
}

func (w *simWorld) trace(format string, args ...any) {
	if w.tracing {
		w.lines = append(w.lines, fmt.Sprintf(format, args...))
	}
}

// violates notes the first violation of a rule.
func (w *simWorld) violates(rule, format string, args ...any) {
	if w.violation == "" {
		w.violation = rule + ": " + fmt.Sprintf(format, args...)
	}
	w.trace("    VIOLATION of %s: %s", rule, fmt.Sprintf(format, args...))
	for _, s := range w.spaces {
		for _, object := range s.sorted() {
			w.trace("      %s: %s", s.namespace(), object)
		}
		for _, pod := range s.pods {
			w.trace("      %s: pod %s", s.namespace(), pod)
		}
	}
}

// shows has the informer cache show some of what has happened.
func (w *simWorld) shows(s *simSpace) {
	if w.rand.IntN(3) == 0 {
		kind := "Pod"
		if n := w.rand.IntN(len(simulation.Kinds) + 1); n > 0 {
			kind = simulation.Kinds[n-1]
		}
		s.deliver(kind)
	}
}

// requested has events happen whose request has come.
func (w *simWorld) requested() {
	if len(w.later) == 0 {
		return
	}
	w.later = slices.DeleteFunc(w.later, func(e simulation.Event) bool {
		if e.At > w.requests-w.laterAt {
			return false
		}
		w.happen(e)
		return true
	})
}

// round gives the operator and the controllers a moment.
func (w *simWorld) round() {
	w.steps++
	w.idle = true
	for _, s := range w.spaces {
		s.controllers()
		isShown := s.isShown()
		for _, kind := range simulation.Kinds {
			if w.rand.IntN(4) > 0 && !isShown {
				s.deliver(kind)
			}
		}
		if w.rand.IntN(4) > 0 {
			s.deliver("Pod")
		}
		if !s.stopped[simulation.UserSecret] && s.cachedSecret != s.secret {
			s.cachedSecret, s.dirty = s.secret, true
		}
	}
	w.operator.clients.Waves.Look(context.Background())
	for _, s := range w.spaces {
		w.reconcileIfDue(s)
	}
	w.now = w.now.Add(300 * time.Millisecond)
}

func (w *simWorld) reconcileIfDue(s *simSpace) {
	if !s.dirty && (s.due.IsZero() || w.now.Before(s.due)) {
		return
	}
	s.dirty, s.due, w.idle = false, time.Time{}, false
	w.operator.reconcile(s)
	if w.killed {
		w.trace("  another operator starts")
		w.start()
	}
}

// pass lets time pass, and leaves out moments without an event.
func (w *simWorld) pass(d time.Duration) {
	end := w.now.Add(d)
	for w.now.Before(end) && w.violation == "" {
		w.round()
		next := end
		for _, s := range w.spaces {
			comes := func(kind string) bool { return !s.stopped[kind] && s.lags(kind) }
			if s.dirty || comes("Pod") || !s.isShown() && slices.ContainsFunc(simulation.Kinds, comes) {
				w.idle = false
			}
			if !s.due.IsZero() && s.due.Before(next) {
				next = s.due
			}
			if s.state.update() != "" && next.After(w.now.Add(5*time.Second)) {
				next = w.now.Add(5 * time.Second) // waves are looked at
			}
		}
		if w.idle && next.After(w.now) {
			w.now = next
		}
	}
}
