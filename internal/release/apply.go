package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/specpath"
)

// absent is a resource version that no object has. An apply with it can create an object, and cannot change one.
const absent = "1"

// goneError says that the cluster does not have a kind any more.
type goneError struct{ error }

// Unwrap returns what the API server, or the list of its kinds, says.
func (e *goneError) Unwrap() error { return e.error }

// step is what has to be done about one object.
type step struct {
	object *unstructured.Unstructured
	ref    ref
	want   string        // hash of object
	before client.Object // as the Collector has it now, or nil

	after   client.Object // as it was applied
	created bool
	err     error
}

// isRefused tells whether the API server has refused the object, so that nothing of it is there.
func (s *step) isRefused() bool { return apierrors.IsInvalid(s.err) || apierrors.IsForbidden(s.err) }

// apply applies what is not known to be in order. If a revision begins, nothing is written if somebody else is in the way.
func (r *actionClient) apply(objects []*unstructured.Unstructured, revise bool) error {
	ordered := inOrder(objects)
	var steps [stages][]*step
	for i, objects := range ordered {
		for _, object := range objects {
			if next := r.plan(object); next != nil {
				steps[i] = append(steps[i], next)
			}
		}
	}
	if err := r.avoidConflicts(steps); err != nil {
		return err
	}
	r.begun = r.begun || revise
	var repaired []string
	for i := range steps {
		if r.Shard != "" && !r.isChosen() {
			return errors.New("the Collector's labels select another operator now")
		}
		together(steps[i], func(s *step) { s.err = r.applyStep(s) })
		if i == workloads && r.checking == "" && !slices.ContainsFunc(steps[i], (*step).isRefused) {
			for _, known := range r.objects {
				known.fresh = false
			}
		}
		if err := r.note(steps[i], !revise && !r.begun && !r.moved, &repaired); err != nil {
			return r.undo(err)
		}
	}
	if len(repaired) > 0 {
		r.Metrics.Repaired()
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "DriftRepaired",
			"restored to the release: %s", strings.Join(repaired, ", "))
	}
	return nil
}

// plan returns what has to be done about an object, or nil if it is in order as far as the informer cache tells.
func (r *actionClient) plan(object *unstructured.Unstructured) *step {
	next := &step{object: object, ref: refTo(object), want: hashOf(object)}
	known, before := r.objects[next.ref], r.observed[next.ref]
	next.before = before
	if known == nil || known.want != next.want {
		return next
	}
	switch {
	case known.isBehind(before):
		return nil
	case before == nil:
		return next
	case known.isInOrder(before):
		return nil
	case time.Now().Before(known.next):
		r.contest(next.ref, before, known)
		return nil
	}
	return next
}

// avoidConflicts returns a *ConflictError if an object that the Collector needs, and does not have yet, exists with another
// owner. It does not ask the API server for the first revision: mostly nothing is there, and when a conflict is found, the
// objects that were created before it are deleted. It does not ask for a configuration's Secret either. Each change has a new
// one, and pods are not touched until it is there.
func (r *actionClient) avoidConflicts(steps [stages][]*step) error {
	for _, some := range steps {
		together(some, func(s *step) {
			if s.before == nil {
				s.err = r.avoidConflict(s)
			}
		})
		for _, s := range some {
			if s.err != nil {
				r.conflicts = true
				return s.err
			}
		}
	}
	return nil
}

func (r *actionClient) avoidConflict(s *step) error {
	if (r.deployed == nil || r.isConfiguration(s.ref)) && !r.conflicts && !r.isCached(s.ref) {
		return nil
	}
	found, err := r.find(r.ctx, s.ref)
	if err != nil || found == nil {
		return gone(err)
	}
	return r.verify(found, s.ref.kind())
}

// isCached tells whether the informer cache has an object, whosever it is.
func (r *actionClient) isCached(what ref) bool {
	if !slices.Contains(r.chart.kinds, what.kind()) {
		return false // the cache would wait for a kind that has gone
	}
	key := client.ObjectKey{Namespace: r.collector.GetNamespace(), Name: what.name}
	return r.cluster.Get(r.ctx, key, objectOf(what.kind())) == nil
}

// applyStep applies one object: it creates it, or changes the one that the Collector has, and no other.
func (r *actionClient) applyStep(s *step) error {
	before, replaced := s.before, false
	for range 3 {
		err := r.applyTo(s, before)
		if err == nil {
			s.created = before == nil
			return nil
		}
		if apierrors.IsInvalid(err) && before != nil && s.ref.kind().Kind == "StatefulSet" {
			if grown, err := r.grow(s, before); err != nil {
				return fmt.Errorf("apply %s: %w", s.ref, err)
			} else if grown {
				before = nil
				continue
			}
		}
		if apierrors.IsInvalid(err) && !isOtherUID(err) && before != nil && !replaced && r.replace(s, before) == nil {
			replaced = true
			continue
		}
		// It is there, or it is another one.
		if !apierrors.IsConflict(err) && !isOtherUID(err) {
			return gone(fmt.Errorf("apply %s: %w", s.ref, specpath.Explain(err, r.collector, s.object)))
		}
		if before, err = r.find(r.ctx, s.ref); err != nil {
			return gone(err)
		}
		if before != nil {
			if err := r.verify(before, s.ref.kind()); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("apply %s: something replaces it again and again", s.ref)
}

func (r *actionClient) applyTo(s *step, before client.Object) error {
	object := &unstructured.Unstructured{Object: s.object.Object}
	if before == nil {
		object = withMetadata(object, "resourceVersion", absent)
	} else {
		seen := sightOf(before)
		if seen.legacy {
			var err error
			if seen, err = r.takeOver(s.ref); err != nil {
				return err
			}
		}
		if err := r.handOver(s, before, seen); err != nil {
			return err
		}
		object = withMetadata(object, "uid", string(before.GetUID()))
	}
	var err error
	s.after, err = r.send(s.ref, object, manager)
	return err
}

// send applies an object as a field manager, and returns what it is then.
func (r *actionClient) send(what ref, object *unstructured.Unstructured, as string) (client.Object, error) {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("write it as JSON: %w", err)
	}
	after := objectOf(what.kind())
	after.SetNamespace(r.collector.GetNamespace())
	after.SetName(what.name)
	return after, r.cluster.Patch(r.ctx, after, client.RawPatch(types.ApplyPatchType, text), //nolint:wrapcheck // the caller looks at it first
		client.FieldOwner(as), client.ForceOwnership)
}

// note remembers what was applied, and adds what was repaired to a list. It returns the errors.
func (r *actionClient) note(steps []*step, repairing bool, repaired *[]string) error {
	var failed []error
	for _, s := range steps {
		if s.err != nil {
			failed = append(failed, s.err)
			continue
		}
		if r.objects == nil {
			r.objects = map[ref]*state{}
		}
		known := r.objects[s.ref]
		next := &state{
			want: s.want, uid: s.after.GetUID(), version: s.after.GetResourceVersion(), digest: sightOf(s.after).digest, at: time.Now(),
			seen:  s.before != nil && s.before.GetUID() == s.after.GetUID(),
			fresh: s.created && known == nil || known != nil && known.fresh,
		}
		r.objects[s.ref] = next
		if !repairing || !s.created && s.before != nil && s.before.GetResourceVersion() == next.version {
			continue
		}
		*repaired = append(*repaired, s.ref.kind().Kind+" "+s.ref.name)
		if known != nil && s.before != nil {
			next.count(known)
			if r.contest(s.ref, s.before, next); r.contested != "" {
				r.Events.Event(r.collector, corev1.EventTypeWarning, "Contested", r.contested)
			}
		}
	}
	return errors.Join(failed...)
}

// undo deletes what a first revision has created until it met something of somebody else: nothing is half begun.
func (r *actionClient) undo(cause error) error {
	if conflict := (*ConflictError)(nil); !errors.As(cause, &conflict) {
		return cause
	}
	r.conflicts = true
	if r.deployed != nil {
		return cause
	}
	return errors.Join(cause, r.removeAll())
}

// awaitCache gives the informer cache a moment to show what was applied: the status can say then that it is in order.
func (r *actionClient) awaitCache() {
	_ = wait.PollUntilContextTimeout(r.ctx, 2*time.Millisecond, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return r.observe(ctx) == nil && r.isWhole(), nil
	})
}

// withMetadata returns a copy of an object with one more field in its metadata.
func withMetadata(object *unstructured.Unstructured, field, value string) *unstructured.Unstructured {
	whole, metadata := map[string]any{}, map[string]any{}
	maps.Copy(whole, object.Object)
	parts, _ := object.Object["metadata"].(map[string]any)
	maps.Copy(metadata, parts)
	metadata[field] = value
	whole["metadata"] = metadata
	return &unstructured.Unstructured{Object: whole}
}

// gone makes err a *goneError if it says that the cluster does not have the kind.
func gone(err error) error {
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return &goneError{err}
	}
	return err
}

// isOtherUID tells whether an object was not changed because it is another one than was meant.
func isOtherUID(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "metadata.uid")
}
