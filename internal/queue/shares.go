package queue

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// shares has the Collectors of one namespace get at most half of the workers while others wait. The library hands out by priority and age
// only. It has handed out what is parked, but no worker has that yet, and the library does not look at it again.
type shares struct {
	mutex   sync.Mutex
	workers int
	ready   map[reconcile.Request]place     // what waits only for a worker, parked or not
	low     []ready                         // what became ready at low priority, the oldest first, and what was handed out since
	taken   int                             // since the oldest of these had its turn
	later   map[reconcile.Request]time.Time // when what is delayed is due
	soonest time.Time                       // not later than any of these
	working map[reconcile.Request]bool      // what workers have; an event meanwhile makes it ready, but nobody can have it yet
	waiting map[string]int                  // how many are ready that no worker has, by namespace
	all     int                             // the sum of these
	busy    map[string]int                  // workers
	parked  map[string][]reconcile.Request  // the highest priority first
}

// place is the priority of a request that waits for a worker, and when it began to wait.
type place struct {
	priority int
	since    time.Time
}

// ready is a request that waits only for a worker.
type ready struct {
	reconcile.Request
	place
}

const (
	// longestWait is how long a request of low priority waits for all others.
	longestWait = 5 * time.Second

	// turns is how many requests are handed out until it is the turn of one that has waited longer.
	turns = 4
)

func newShares(workers int) *shares {
	return &shares{
		workers: workers, ready: map[reconcile.Request]place{}, later: map[reconcile.Request]time.Time{},
		working: map[reconcile.Request]bool{}, waiting: map[string]int{}, busy: map[string]int{}, parked: map[string][]reconcile.Request{},
	}
}

// add notes a request, and tells whether it is news: not if it waits already for a worker, with at least that priority.
func (s *shares) add(request reconcile.Request, priority int, after time.Duration) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known, isReady := s.ready[request]
	if isReady && (after > 0 || known.priority >= priority) {
		return false
	}
	if after > 0 {
		due := time.Now().Add(after)
		if before, isLater := s.later[request]; !isLater || due.Before(before) {
			s.later[request] = due
		}
		if s.soonest.IsZero() || due.Before(s.soonest) {
			s.soonest = due
		}
		return true
	}
	if at := slices.Index(s.parked[request.Namespace], request); isReady && at >= 0 {
		s.parked[request.Namespace] = slices.Delete(s.parked[request.Namespace], at, at+1)
		s.ready[request] = place{priority, known.since}
		s.park(request)
		return false
	}
	s.isReady(request, priority)
	return true
}

func (s *shares) isReady(request reconcile.Request, priority int) {
	before, isReady := s.ready[request]
	s.ready[request] = place{priority, before.since}
	if !isReady && !s.working[request] {
		s.begins(request)
	}
	delete(s.later, request)
}

// begins notes that a request waits for a worker from now on.
func (s *shares) begins(request reconcile.Request) {
	s.count(request, 1)
	now := place{s.ready[request].priority, time.Now()}
	s.ready[request] = now
	if now.priority < 0 {
		s.low = append(s.low, ready{request, now})
	}
}

// take takes a request that the library has handed out. It returns one of the same namespace that was parked, if that comes first, or
// parks the request if its namespace may have no other worker.
func (s *shares) take(request reconcile.Request, priority int) (next reconcile.Request, of int, isTaken bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	namespace := request.Namespace
	s.isReady(request, priority)
	s.park(request)
	if s.busy[namespace] >= s.most(namespace) {
		return next, 0, false
	}
	next = s.parked[namespace][0]
	s.keep(namespace, s.parked[namespace][1:])
	of = s.ready[next].priority
	delete(s.ready, next)
	s.count(next, -1)
	s.working[next] = true
	s.busy[namespace]++
	return next, of, true
}

// most returns how many workers a namespace may have: all, if nobody else waits.
func (s *shares) most(namespace string) int {
	if now := time.Now(); !s.soonest.IsZero() && !now.Before(s.soonest) {
		s.soonest = time.Time{}
		for request, due := range s.later {
			switch {
			case !now.Before(due):
				s.isReady(request, handler.LowPriority)
			case s.soonest.IsZero() || due.Before(s.soonest):
				s.soonest = due
			}
		}
	}
	if s.all == s.waiting[namespace] {
		return s.workers
	}
	return (s.workers + 1) / 2
}

// done notes that a worker has done with a request.
func (s *shares) done(request reconcile.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	lower(s.busy, request.Namespace)
	delete(s.working, request)
	if _, isReady := s.ready[request]; isReady {
		s.begins(request)
	}
}

// giveBack returns what was parked and its namespace may have now, and what users have changed also before what the library has of it.
func (s *shares) giveBack() (given []ready) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for namespace, parked := range s.parked {
		outside := s.waiting[namespace] - len(parked)
		urgent := slices.IndexFunc(parked, func(request reconcile.Request) bool { return s.ready[request].priority < 0 })
		if urgent < 0 {
			urgent = len(parked)
		}
		free := s.most(namespace) - s.busy[namespace]
		count := min(max(free-outside, min(free, urgent)), len(parked))
		if count <= 0 {
			continue
		}
		for _, request := range parked[:count] {
			given = append(given, ready{request, s.ready[request]})
		}
		s.keep(namespace, parked[count:])
	}
	return given
}

// overtaken returns a request of low priority that has waited long, once for some others that were handed out.
func (s *shares) overtaken() (request reconcile.Request, found bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.taken++; s.taken < turns {
		return request, false
	}
	for len(s.low) > 0 && time.Since(s.low[0].since) >= longestWait {
		next := s.low[0]
		s.low = s.low[1:]
		if now := s.ready[next.Request]; now.priority < 0 && now.since.Equal(next.since) {
			s.taken = 0
			return next.Request, true
		}
	}
	return request, false
}

func (s *shares) park(request reconcile.Request) {
	parked := s.parked[request.Namespace]
	at, _ := slices.BinarySearchFunc(parked, s.ready[request].priority, func(other reconcile.Request, priority int) int {
		return cmp.Or(cmp.Compare(priority, s.ready[other].priority), -1) // after those of the same priority
	})
	s.parked[request.Namespace] = slices.Insert(parked, at, request)
}

func (s *shares) keep(namespace string, parked []reconcile.Request) {
	if s.parked[namespace] = parked; len(parked) == 0 {
		delete(s.parked, namespace)
	}
}

func (s *shares) count(request reconcile.Request, by int) {
	s.all += by
	if s.waiting[request.Namespace] += by; s.waiting[request.Namespace] == 0 {
		delete(s.waiting, request.Namespace)
	}
}

func lower(counts map[string]int, namespace string) {
	if counts[namespace]--; counts[namespace] <= 0 {
		delete(counts, namespace)
	}
}
