package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Applier does steps for one Collector.
type Applier struct {
	Cluster   Cluster
	Collector *unstructured.Unstructured

	// Note gets each object that was applied or, with nil, deleted. A creation that found an object counts as its adoption. An object
	// that was created again as it was counts so, too. Note is called by one goroutine at a time.
	Note func(step Step, after *live.Object)

	// Lost gets each step whose answer was lost: it may or may not be done. It is called like Note.
	Lost func(step Step)

	// Together does all of some work, at the same time or in turn.
	Together func(count int, do func(int))
}

// Do does steps: those of one group together, and the next group when they are done. It stops after a group with an error.
func (a *Applier) Do(ctx context.Context, groups [][]Step) error {
	var noting sync.Mutex
	for _, group := range groups {
		failed := make([]error, len(group))
		a.Together(len(group), func(i int) {
			var after *live.Object
			after, failed[i] = a.step(ctx, group[i])
			noting.Lock()
			defer noting.Unlock()
			switch {
			case group[i].Action == Try:
			case failed[i] == nil:
				a.Note(group[i], after)
			case HasAdopted(failed[i]):
				a.Note(Step{Action: Adopt, Ref: group[i].Ref}, after)
			case IsLost(failed[i]):
				a.Lost(group[i])
			case after != nil && after.UID != "": // it is created again as it was
				a.Note(Step{Action: Adopt, Ref: group[i].Old.Ref}, after)
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

func (a *Applier) step(ctx context.Context, s Step) (after *live.Object, err error) {
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
		if s.Action == Create && s.TakesOver {
			a.discard(ctx, s)
		}
		applied, err := a.apply(ctx, s)
		return &applied, refusedFor(err, s.Ref)
	case Replace:
		applied, err := a.replace(ctx, s)
		return &applied, refusedFor(err, s.Ref)
	case Adopt:
		return a.adopt(ctx, s)
	case Delete:
		retains, err := a.retains(ctx, s)
		if err == nil && retains {
			err = a.Cluster.Retain(ctx, s.Ref, s.UID)
		}
		if err != nil {
			return nil, fmt.Errorf("keep the claims of %s: %w", s.Ref, err)
		}
		return nil, a.Cluster.Delete(ctx, s.Ref, s.UID, false, false)
	}
	return nil, fmt.Errorf("%s %s: there is no such step", s.Action, s.Ref)
}

// try has the API server accept a step without doing it. A webhook that does not support dry runs has no say. The successor
// of an object has another name for that, as long as its own is taken.
func (a *Applier) try(ctx context.Context, s Step) error {
	if s.Old != nil {
		if err := a.grow(ctx, s, true); err != nil {
			return err
		}
	}
	for again := false; ; again = true {
		request := a.request(s, s.UID)
		if request.DryRun = true; s.Old != nil {
			request.UID = ""
			if s.Old.Ref == s.Ref {
				request.Name = successorName(s.Ref.Name(), s.Old.UID)
			}
		}
		_, err := a.Cluster.Apply(ctx, request)
		switch {
		case err == nil, s.Old != nil && blames(err, s.Old.Ref, s.Ref):
			return nil
		case lacksDryRun(err):
			return nil
		case request.UID != "" && s.Old == nil && isOfLists(err, s.Ref.Kind().Kind) && a.Cluster.Rewrite(ctx, request) == nil:
			return nil // as apply does it
		case !apierrors.IsConflict(err) && !isOtherUID(err):
			return a.refusal(withOwnName(err, request.Name, s.Ref), s)
		}
		refused := err
		found, err := a.find(ctx, s.Ref) // it is another owner's, or another one than was seen, or has gone
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

// apply applies one object: it creates it, or changes the one that the Collector has, and no other.
func (a *Applier) apply(ctx context.Context, s Step) (live.Object, error) {
	uid, rewritten := s.UID, false
	var refused error
	for range 3 {
		if s.HandsOver && uid != "" {
			if err := a.handOver(ctx, s.Ref, uid); err != nil {
				return live.Object{}, err
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
			after.Version, after.Digest = "", "" // it is not in order: the next reconcile hands them over
			return after, nil
		case err == nil:
			return after, nil
		case apierrors.IsConflict(err) || isOtherUID(err): // it is there, or it is another one
			refused = err
			found, err := a.find(ctx, s.Ref)
			if err != nil {
				return live.Object{}, err
			}
			if uid = ""; found == nil {
				continue
			}
			if s.Action == Create && live.Of(found).Hash != s.Object.Hash {
				adopted, err := a.label(ctx, found) // it may serve, and no plan changes it
				return adopted, cmp.Or(err, error(&adoptedError{s.Ref}))
			}
			// It may have as many pods as it was created with.
			uid, s.HandsOver = found.GetUID(), s.Object.Stage == render.Workloads && !s.Object.SetsReplicas
		case uid != "" && !rewritten && isOfLists(err, s.Ref.Kind().Kind) && a.Cluster.Rewrite(ctx, request) == nil:
			rewritten = true
		default:
			return live.Object{}, a.refusal(err, s)
		}
	}
	return live.Object{}, fmt.Errorf("apply %s: something replaces it, or refuses it as a conflict, again and again: %w", s.Ref, refused)
}

func (a *Applier) request(s Step, uid types.UID) Request {
	request := Request{Ref: s.Ref, Content: s.Object.Content, UID: uid, Manager: managedfields.Manager, CoOwned: s.CoOwned}
	if (uid == "" || s.ScalesUp) && !s.Object.SetsReplicas {
		request.Replicas = s.Replicas
	}
	return request
}

// find returns the object that is there, or nil. It is a *live.ConflictError if that has another owner.
func (a *Applier) find(ctx context.Context, what live.Reference) (*unstructured.Unstructured, error) {
	found, err := a.Cluster.Read(ctx, what)
	if err != nil || found == nil {
		return nil, gone(err)
	}
	return found, live.Verify(found, a.Collector, what)
}

// refusal says what the API server refuses, by the fields of the Collector.
func (a *Applier) refusal(err error, s Step) error {
	if isImmutable(err, s.Ref.Kind().Kind) && s.UID != "" {
		return &immutableError{Ref: s.Ref, Object: s.Object, cause: specpath.Explain(err, a.Collector, s.Object.Content)}
	}
	explained := specpath.Explain(err, a.Collector, s.Object.Content)
	if selectsOthers(err) {
		explained = fmt.Errorf("%w; another client has created it for other pods: delete it, and the operator creates it again", explained)
	}
	return gone(&RefusedError{fmt.Errorf("apply %s: %w", s.Ref, explained), s.Ref})
}
