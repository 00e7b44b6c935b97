package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// goneTimeout is how long a step waits until what it deletes to make room has gone. Mostly that takes milliseconds.
const goneTimeout = 5 * time.Second

// Applier does steps for one Collector.
type Applier struct {
	Cluster   Cluster
	Collector *unstructured.Unstructured

	// Shard is the label of what this operator applies, or empty.
	Shard string

	// Before is asked before each group of steps whether to go on; nil is for yes.
	Before func() error

	// Note is told of each object that was applied or, with nil, deleted. It is called by one goroutine at a time.
	Note func(step Step, after *inventory.Object)

	// Lost is told of each step whose answer was lost: nobody knows whether it was done. It is called like Note.
	Lost func(step Step)

	// Together does all of some work, at the same time or in turn.
	Together func(count int, do func(int))
}

// Do does steps: those of one group together, and the next group when they are done. It stops after a group with an error.
func (a *Applier) Do(ctx context.Context, groups [][]Step) error {
	var noting sync.Mutex
	for _, group := range groups {
		if a.Before != nil {
			if err := a.Before(); err != nil {
				return err
			}
		}
		failed := make([]error, len(group))
		a.Together(len(group), func(i int) {
			var after *inventory.Object
			after, failed[i] = a.step(ctx, group[i])
			noting.Lock()
			defer noting.Unlock()
			switch {
			case group[i].Action == Try:
			case failed[i] == nil:
				a.Note(group[i], after)
			case IsLost(failed[i]):
				a.Lost(group[i])
			}
		})
		if err := errors.Join(failed...); err != nil {
			return err
		}
	}
	return nil
}

// Concurrently does work at the same time. A panic is an error of the work, and no end of the operator.
func Concurrently(count int, do func(int)) {
	var doing sync.WaitGroup
	for i := range count {
		doing.Go(func() { do(i) })
	}
	doing.Wait()
}

func (a *Applier) step(ctx context.Context, s Step) (after *inventory.Object, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			log.FromContext(ctx).Error(nil, "panic", "step", string(s.Action), "object", s.Ref.String(), "stack", string(debug.Stack()))
			after, err = nil, fmt.Errorf("%s %s: a panic; see the operator's log, and report it", s.Action, s.Ref)
		}
	}()
	switch s.Action {
	case Try:
		return nil, a.try(ctx, s)
	case Create, Change:
		if err := a.recount(ctx, &s); err != nil {
			return nil, err
		}
		applied, err := a.apply(ctx, s)
		return &applied, err
	case Replace:
		applied, err := a.replace(ctx, s)
		return &applied, err
	case Adopt:
		return a.adopt(ctx, s)
	case Delete:
		return nil, a.Cluster.Delete(ctx, s.Ref, s.UID, false)
	}
	return nil, fmt.Errorf("%s %s: there is no such step", s.Action, s.Ref)
}

// try has the API server accept a step without doing it. A webhook that does not support dry runs has no say. The successor
// of an object has another name for that, as long as its own is taken.
func (a *Applier) try(ctx context.Context, s Step) error {
	for again := false; ; again = true {
		request := a.request(s, s.UID)
		if request.DryRun = true; s.Old != nil {
			request.UID = ""
			if s.Old.Ref == s.Ref {
				request.Name = successorName(s.Ref.Name())
			}
		}
		_, err := a.Cluster.Apply(ctx, request)
		switch {
		case err == nil, s.Old != nil && blames(err, s.Old.Ref, s.Ref):
			return nil
		case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
			return nil
		case request.UID != "" && s.Old == nil && isOfLists(err) && a.Cluster.Rewrite(ctx, request) == nil:
			return nil // as apply does it
		case !apierrors.IsConflict(err) && !isOtherUID(err):
			return a.refusal(err, s)
		}
		refused := err
		found, err := a.find(ctx, s.Ref) // it is somebody else's, or another one than was seen, or has gone
		if err != nil {
			return err
		}
		if again {
			return a.refusal(refused, s)
		}
		if s.UID = ""; found != nil {
			s.UID = found.GetUID()
		}
	}
}

// recount has a workload that is created begin with as many pods as its predecessor has now.
func (a *Applier) recount(ctx context.Context, s *Step) error {
	if s.Action != Create || s.Replicas == 0 || s.Predecessor == s.Ref {
		return nil
	}
	live, err := a.Cluster.Read(ctx, s.Predecessor)
	if err != nil || live == nil {
		return err
	}
	if replicas, found, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); found {
		s.Replicas = int32(replicas) //nolint:gosec // the API server has it as an int32
	}
	return nil
}

// apply applies one object: it creates it, or changes the one that the Collector has, and no other.
func (a *Applier) apply(ctx context.Context, s Step) (inventory.Object, error) {
	uid, rewritten := s.UID, false
	var refused error
	for range 3 {
		if s.HandsOver && uid != "" {
			if err := a.handOver(ctx, s.Ref, uid); err != nil {
				return inventory.Object{}, err
			}
		}
		request := a.request(s, uid)
		after, err := a.Cluster.Apply(ctx, request)
		switch {
		case err == nil && request.Replicas != 0: // which are an autoscaler's from now on
			s.UID, s.HandsOver, s.Replicas = after.UID, true, 0
			if handed, err := a.apply(ctx, s); err == nil {
				return handed, nil
			}
			return after, nil // the next reconcile hands them over
		case err == nil:
			return after, nil
		case apierrors.IsConflict(err) || isOtherUID(err): // it is there, or it is another one
			refused = err
			found, err := a.find(ctx, s.Ref)
			if err != nil {
				return inventory.Object{}, err
			}
			uid = ""
			if found != nil { // which may have as many pods as it was created with
				uid, s.HandsOver = found.GetUID(), s.Object.Stage == render.Workloads && !s.Object.SetsReplicas
			}
		case uid != "" && !rewritten && isOfLists(err) && a.Cluster.Rewrite(ctx, request) == nil:
			rewritten = true
		default:
			return inventory.Object{}, a.refusal(err, s)
		}
	}
	return inventory.Object{}, fmt.Errorf("apply %s: something replaces it, or refuses it as a conflict, again and again: %w", s.Ref, refused)
}

func (a *Applier) request(s Step, uid types.UID) Request {
	request := Request{Ref: s.Ref, Content: s.Object.Content, UID: uid, Manager: inventory.Manager}
	if uid == "" && !s.Object.SetsReplicas {
		request.Replicas = s.Replicas
	}
	return request
}

// find returns the object that is there, or nil. It is a *inventory.ConflictError if that is somebody else's.
func (a *Applier) find(ctx context.Context, what inventory.Reference) (*unstructured.Unstructured, error) {
	found, err := a.Cluster.Read(ctx, what)
	if err != nil || found == nil {
		return nil, gone(err)
	}
	return found, inventory.Verify(found, a.Collector, what)
}

// refusal says what the API server refuses, by the fields of the Collector.
func (a *Applier) refusal(err error, s Step) error {
	if fields := immutable(err, s.Ref.Kind().Kind); len(fields) > 0 && s.UID != "" {
		return &ImmutableError{Ref: s.Ref, Object: s.Object, cause: specpath.Explain(err, a.Collector, s.Object.Content)}
	}
	return gone(fmt.Errorf("apply %s: %w", s.Ref, specpath.Explain(err, a.Collector, s.Object.Content)))
}

// replace deletes what is in the way of an object, and creates the object. A dry run has accepted the object before. If the API
// server refuses it nevertheless, the deleted object is created again.
func (a *Applier) replace(ctx context.Context, s Step) (inventory.Object, error) {
	successor := s
	successor.UID = ""
	if err := a.try(ctx, successor); err != nil {
		return inventory.Object{}, err
	}
	old, err := a.Cluster.Read(ctx, s.Old.Ref)
	if err != nil {
		return inventory.Object{}, err
	}
	if old != nil && old.GetUID() == s.Old.UID {
		if held := old.GetFinalizers(); s.Old.Ref == s.Ref && len(held) > 0 {
			return inventory.Object{}, fmt.Errorf(
				"%s cannot be changed, and finalizers %s would keep the operator from creating it again; remove them", s.Ref, strings.Join(held, ", "))
		}
		for _, growth := range s.Old.Grow {
			if err := a.Cluster.Grow(ctx, growth); err != nil {
				return inventory.Object{}, fmt.Errorf("expand PersistentVolumeClaim %q for spec.volumeClaimTemplates: %w", growth.Claim, err)
			}
		}
		if err := a.Cluster.Delete(ctx, s.Old.Ref, s.Old.UID, s.Old.Orphan); err != nil {
			return inventory.Object{}, err
		}
		if err := a.awaitGone(ctx, s); err != nil {
			return inventory.Object{}, err
		}
		// As many pods as it had: an autoscaler may have changed that since the informer cache was read.
		if replicas, found, _ := unstructured.NestedInt64(old.Object, "spec", "replicas"); found && s.Old.Ref == s.Ref {
			successor.Replicas = int32(replicas) //nolint:gosec // the API server has it as an int32
		}
	}
	after, err := a.apply(ctx, successor)
	if err != nil && old != nil && old.GetUID() == s.Old.UID {
		if again := a.Cluster.Restore(ctx, old); again != nil {
			err = errors.Join(err, fmt.Errorf("create %s again as it was: %w", s.Old.Ref, again))
		}
	}
	return after, err
}

// awaitGone waits until what had the object's name has gone.
func (a *Applier) awaitGone(ctx context.Context, s Step) error {
	if s.Old.Ref != s.Ref {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, goneTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := a.Cluster.Read(ctx, s.Ref)
		return found == nil || found.GetUID() != s.Old.UID, err
	})
	if err != nil {
		return fmt.Errorf("the operator creates %s again when the old one is gone; its pods keep running: %w", s.Ref, err)
	}
	return nil
}

// successorName returns a name for the dry run of an object whose own name is taken. StatefulSets have names of at most 52 letters.
func successorName(name string) string {
	const suffix = "-dry-run"
	return strings.TrimRight(name[:min(len(name), 52-len(suffix))], "-.") + suffix
}

// blames tells whether a refusal says that just what makes room is in the way: KEDA's webhook refuses a ScaledObject for a workload
// that a HorizontalPodAutoscaler scales.
func blames(err error, old, successor inventory.Reference) bool {
	names := map[string][]string{"HorizontalPodAutoscaler": {"hpa", "horizontalpodautoscaler"}, "ScaledObject": {"scaledobject"}}
	said := strings.ToLower(err.Error())
	return old != successor && strings.Contains(said, "'"+old.Name()+"'") &&
		slices.ContainsFunc(names[old.Kind().Kind], func(name string) bool { return strings.Contains(said, "the "+name+" ") })
}
