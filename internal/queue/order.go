package queue

import (
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// longestWait is how long the delayed requests of a namespace wait for all urgent ones.
	longestWait = 5 * time.Second

	// urgentTurns is how many urgent requests are handed out then for each delayed one.
	urgentTurns = 3
)

// order has the requests that wait for a worker. Urgent requests, which a user waits for, come before delayed ones. Among each, namespaces
// take turns. client-go calls Push, Touch, Pop and Len, with its lock.
type order struct {
	mutex    sync.Mutex
	isUrgent map[reconcile.Request]bool // until it is handed out
	busy     map[string]int             // how many workers each namespace has
	urgent   line
	delayed  line
	passed   int // how many urgent requests were handed out since the last delayed one
}

func newOrder() *order {
	return &order{
		isUrgent: map[reconcile.Request]bool{}, busy: map[string]int{},
		urgent: line{shares: map[string]*share{}}, delayed: line{shares: map[string]*share{}},
	}
}

// markUrgent makes a request urgent that is added next. If a worker gets it in between, its reconcile has not begun and sees what the
// request is for, so the one that is added then is not urgent.
func (o *order) markUrgent(request reconcile.Request) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.isUrgent[request] = true
}

// Push adds a request that does not wait.
func (o *order) Push(request reconcile.Request) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.isUrgent[request] {
		o.urgent.push(request)
		return
	}
	o.delayed.push(request)
}

// Touch moves a request that has become urgent while it waits.
func (o *order) Touch(request reconcile.Request) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.isUrgent[request] && o.delayed.remove(request) {
		o.urgent.push(request)
	}
}

// Len returns how many requests wait.
func (o *order) Len() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.urgent.count + o.delayed.count
}

// Pop takes the next request. client-go calls it only if one waits.
func (o *order) Pop() reconcile.Request {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	next := &o.urgent
	if o.passed++; o.isDelayedNext() {
		next, o.passed = &o.delayed, 0
	}
	request := next.pop(o.busy)
	delete(o.isUrgent, request)
	o.busy[request.Namespace]++
	return request
}

func (o *order) isDelayedNext() bool {
	switch {
	case o.urgent.count == 0:
		return true
	case o.delayed.count == 0:
		return false
	}
	return o.passed > urgentTurns && o.delayed.waited(o.busy) >= longestWait
}

// release notes that a worker has ended with a request.
func (o *order) release(request reconcile.Request) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.busy[request.Namespace]--; o.busy[request.Namespace] == 0 {
		delete(o.busy, request.Namespace)
	}
}

// line has requests by namespace. The next one is of the namespace that has the fewest workers and, of those, has waited longest for its
// turn. So a namespace whose reconciles take long leaves workers to others, too.
type line struct {
	count  int
	turns  []string // the namespaces, the next turn first
	shares map[string]*share
}

// share is the requests of a namespace, the oldest first.
type share struct {
	requests []reconcile.Request
	since    time.Time // when it began to have requests
}

func (l *line) push(request reconcile.Request) {
	l.count++
	waiting, found := l.shares[request.Namespace]
	if !found {
		waiting = &share{since: time.Now()}
		l.shares[request.Namespace] = waiting
		l.turns = append(l.turns, request.Namespace)
	}
	waiting.requests = append(waiting.requests, request)
}

// remove tells whether the request was there.
func (l *line) remove(request reconcile.Request) bool {
	waiting, found := l.shares[request.Namespace]
	if !found {
		return false
	}
	at := slices.Index(waiting.requests, request)
	if at < 0 {
		return false
	}
	l.count--
	if waiting.requests = slices.Delete(waiting.requests, at, at+1); len(waiting.requests) == 0 {
		delete(l.shares, request.Namespace)
		at = slices.Index(l.turns, request.Namespace)
		l.turns = slices.Delete(l.turns, at, at+1)
	}
	return true
}

func (l *line) pop(busy map[string]int) reconcile.Request {
	at := l.next(busy)
	namespace := l.turns[at]
	request := l.shares[namespace].requests[0]
	l.remove(request)
	if _, waits := l.shares[namespace]; waits {
		l.turns = append(slices.Delete(l.turns, at, at+1), namespace)
	}
	return request
}

// waited returns for how long the namespace whose turn it is has had requests.
func (l *line) waited(busy map[string]int) time.Duration {
	return time.Since(l.shares[l.turns[l.next(busy)]].since)
}

// next returns the index of the namespace whose turn it is. Only as many as there are workers can be busy, so it looks at few.
func (l *line) next(busy map[string]int) int {
	best := 0
	for at, namespace := range l.turns {
		if busy[namespace] < busy[l.turns[best]] {
			best = at
		}
		if busy[l.turns[best]] == 0 {
			break
		}
	}
	return best
}
