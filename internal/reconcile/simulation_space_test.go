package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simSpace is a namespace with one Collector, and what the operator's informer cache has of it.
type simSpace struct {
	world   *simWorld
	number  int
	version int // the last resource version
	uids    int

	// The Collector.
	exists, finalizer, deleting bool
	uid                         types.UID
	generation                  int64
	spec                        simulation.Spec
	paused, ring, rollout       string
	decided                     simDecided
	deletedAt                   time.Time
	state                       simState // its status
	secret, cachedSecret        int      // versions of the user's Secret
	dirty                       bool     // a reconcile is due at once
	due                         time.Time
	requests                    int
	records                     []simRecord
	recalled                    int // how often a record was read since the operator started
	refusals                    []simRefusal
	neverReady, dies            map[int]bool
	proven                      map[string]bool // templates
	verdicts                    map[int]string
	stopped                     map[string]bool // watches

	objects  map[live.Reference]*simObject
	order    []live.Reference // of objects, in the order of their creation
	pods     []*simPod
	cache    map[live.Reference]*simObject
	cacheOf  []*simPod
	removing map[types.UID]bool // what this reconcile has deleted
	reads    map[types.UID]*simObject

	// The rest is for the safety rules.
	view       map[live.Reference]live.Seen // that the operator has decided by
	promoted   string                       // the hash of the change that a user had promoted then
	retried    bool                         // and no user had aborted the last one
	decidedBy  []*simPod                    // what the informer cache showed then
	earlier    []*simPod                    // and at each decision of this reconcile
	orphans    int                          // how many pods of a StatefulSet that is not there the operator saw then
	fresh      bool                         // the informer cache had everything when the reconcile began
	asked      bool                         // the spec has set replicas, or has asked for one of two workloads, since there are two
	current    simInputs                    // what was rendered last
	want       plan.Want
	before     string    // the hash of what was accepted when the reconcile began
	accepted   plan.Want // the last revision that was recorded
	acceptedOf simInputs
	completed  map[string]bool // Jobs
	touched    map[live.Reference]bool
	started    map[live.Reference]*simObject // as they were when the reconcile began
	rendered   map[string]simRecord          // what may be recorded, by its hash
	known      map[int]simRecord             // all that were accepted
	acceptedAs int
	isHeld     bool           // the operator's changes, when the reconcile began
	unfinished bool           // a later revision than the deployed one was recorded then
	waved      bool           // a change of the operator has waited, or was on its way
	isNow      bool           // it was told to take them now
	looked     int            // how many pods the informer cache showed when the operator last looked
	told       int            // how many pods the status told of then
	said       map[string]any // the status as the operator reads it, which is not changed, or nil
	last       int            // how many pods the largest workload had when a reconcile last saw one
	lost       int            // how many pods the deleted workload had
}

func (s *simSpace) namespace() string { return fmt.Sprintf("ns%d", s.number) }

func (s *simSpace) newUID() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("%d-%d", s.number, s.uids))
}

// sorted returns all objects in a fixed order.
func (s *simSpace) sorted() (all []*simObject) {
	for _, what := range s.order {
		all = append(all, s.objects[what])
	}
	return all
}

// store writes an object with its next version.
func (s *simSpace) store(o *simObject) {
	s.version++
	o.version = s.version
	if s.objects[o.ref] == nil {
		s.order = append(s.order, o.ref)
	}
	s.objects[o.ref] = o
	s.world.idle = false
}

// remove deletes an object, unless a finalizer keeps it.
func (s *simSpace) remove(o *simObject) {
	s.world.idle = false
	if len(o.finalizers) > 0 {
		after := o.clone()
		after.deleting = true
		s.store(after)
		return
	}
	delete(s.objects, o.ref)
	s.order = slices.DeleteFunc(s.order, func(what live.Reference) bool { return what == o.ref })
}

// deliver has the informer cache show all of a kind, or all pods.
func (s *simSpace) deliver(kind string) {
	if s.stopped[kind] {
		return
	}
	if kind == "Pod" {
		s.deliverPods()
		return
	}
	for _, what := range s.order {
		now, before := s.objects[what], s.cache[what]
		if what.Kind().Kind != kind || now == before {
			continue
		}
		s.cache[what] = now
		switch {
		case before == nil, before.uid != now.uid, before.digest != now.digest, before.deleting != now.deleting,
			before.ended.Type != now.ended.Type, before.owner != now.owner:
			s.dirty = true
		case before.status != now.status:
			s.soon(500 * time.Millisecond)
		}
	}
	for what := range s.cache {
		if what.Kind().Kind == kind && s.objects[what] == nil {
			delete(s.cache, what)
			s.dirty = true
		}
	}
}

// list has the informer cache of an operator that starts show what watches that had stopped have not shown.
func (s *simSpace) list() {
	for kind, isStopped := range s.stopped {
		if s.stopped[kind] = false; isStopped {
			s.deliver(kind)
		}
	}
}

func (s *simSpace) deliverPods() {
	if slices.ContainsFunc(s.cacheOf, func(pod *simPod) bool { return !slices.Contains(s.pods, pod) }) {
		s.soon(500 * time.Millisecond) // one has gone
	}
	s.cacheOf = s.cacheOf[:0]
	for _, pod := range s.pods {
		pod.shown = true
		s.cacheOf = append(s.cacheOf, pod)
	}
}

// lags tells whether the informer cache does not have all of a kind.
func (s *simSpace) lags(kind string) bool {
	if kind == "Pod" {
		return len(s.cacheOf) != len(s.pods) || slices.ContainsFunc(s.pods, func(pod *simPod) bool { return !pod.shown })
	}
	for _, what := range s.order {
		if what.Kind().Kind == kind && s.cache[what] != s.objects[what] {
			return true
		}
	}
	for what := range s.cache {
		if what.Kind().Kind == kind && s.objects[what] == nil {
			return true
		}
	}
	return false
}

func (s *simSpace) lagsAnywhere() bool { return s.lags("Pod") || !s.isShown() }

// isShown tells whether the informer cache has all objects but pods as they are.
func (s *simSpace) isShown() bool { return maps.Equal(s.cache, s.objects) }

// soon has the Collector reconciled after a delay, or earlier.
func (s *simSpace) soon(delay time.Duration) {
	if at := s.world.now.Add(delay); s.due.IsZero() || at.Before(s.due) {
		s.due = at
	}
}

// simReader is what an operator sees: the informer cache.
type simReader struct{ world *simWorld }

func (r simReader) Of(_ context.Context, collector client.Object, _, _ []schema.GroupVersionKind) (map[live.Reference]live.Object, error) {
	s, found := r.world.of(collector), map[live.Reference]live.Object{}
	if r.world.shows(s); s.workload() != nil {
		s.looked = s.workload().replicas()
	}
	for what, object := range s.cache {
		if object.owner == collector.GetUID() {
			found[what] = object.seen()
		}
	}
	return found, nil
}

// Scaler finds none: in the model, autoscalers are the Collector's own.
func (r simReader) Scaler(context.Context, client.Object, live.Reference, map[live.Reference]live.Object) (string, error) {
	return "", nil
}

// Disowned finds none: in the model, no client takes an owner reference away.
func (r simReader) Disowned(context.Context, client.Object, []schema.GroupVersionKind) ([]live.Reference, error) {
	return nil, nil
}

func (r simReader) Used(_ context.Context, collector client.Object, objects map[live.Reference]live.Object) (live.Used, []live.Pod, error) {
	s := r.world.of(collector)
	var uses []string
	var all []live.Pod
	for _, pod := range s.cacheOf {
		all = append(all, pod.seen())
		uses = append(uses, cache.UsesOf(pod.uses()))
	}
	for _, object := range objects {
		uses = append(uses, object.Uses)
	}
	return live.UsedBy(uses...), all, nil
}

func (s *simSpace) create() {
	s.exists, s.finalizer, s.deleting, s.uid, s.generation = true, false, false, s.newUID(), 1
	s.spec, s.state, s.said, s.dirty = simulation.First(), simState{}, nil, true
	s.paused, s.ring, s.rollout, s.decided = "", "", "", simDecided{}
	s.touched, s.want, s.accepted = map[live.Reference]bool{}, plan.Want{}, plan.Want{}
	s.rendered, s.known, s.acceptedAs, s.acceptedOf = map[string]simRecord{}, map[int]simRecord{}, 0, simInputs{}
}

// mounts tells whether pods use an object, or may.
func (s *simSpace) mounts(what live.Reference) bool {
	isUsed := func(template string) bool {
		uses, _, _ := strings.Cut(template, "|")
		return slices.Contains(strings.Fields(uses), what.Use())
	}
	return slices.ContainsFunc(s.pods, func(pod *simPod) bool { return isUsed(pod.template) }) ||
		slices.ContainsFunc(s.sorted(), func(o *simObject) bool { return isUsed(o.get(simTemplate)) })
}
