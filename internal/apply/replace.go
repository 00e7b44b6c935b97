package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/redact"
)

// goneTimeout is how long a step waits until what it deletes to make room has gone. Mostly that takes milliseconds.
const goneTimeout = 5 * time.Second

// replace deletes what is in the way of an object, and creates the object. A dry run has accepted the object before. If the API
// server refuses it nevertheless, the deleted object is created again, and returned beside the error.
func (a *Applier) replace(ctx context.Context, s Step) (live.Object, error) {
	successor := s
	successor.UID = ""
	if err := a.try(ctx, successor); err != nil {
		return live.Object{}, err
	}
	old, err := a.Cluster.Read(ctx, s.Old.Ref)
	if err != nil {
		return live.Object{}, err
	}
	if old != nil && old.GetUID() == s.Old.UID {
		if held := old.GetFinalizers(); s.Old.Ref == s.Ref && len(held) > 0 {
			return live.Object{}, fmt.Errorf(
				"%s cannot be changed, and finalizers %s would keep the operator from creating it again; remove them", s.Ref, strings.Join(held, ", "))
		}
		if err := a.grow(ctx, s, false); err != nil {
			return live.Object{}, err
		}
		if err := a.Cluster.Delete(ctx, s.Old.Ref, s.Old.UID, s.Old.Orphan, false); err != nil {
			return live.Object{}, err
		}
		if err := a.awaitGone(ctx, s); err != nil {
			return live.Object{}, err
		}
		if s.Old.Orphan {
			a.discard(ctx, s)
		}
		// As many pods as it had: an autoscaler may have changed that since the informer cache was read.
		if replicas, found := replicasOf(old); found && s.Old.Ref == s.Ref && (!s.ScalesUp || s.Replicas < replicas) {
			successor.Replicas = replicas
		}
	}
	after, err := a.apply(ctx, successor)
	if err != nil && old != nil && old.GetUID() == s.Old.UID {
		restored, again := a.Cluster.Restore(ctx, old)
		if again != nil {
			err = errors.Join(err, fmt.Errorf("create %s again as it was: %w", s.Old.Ref, again))
		}
		after = restored
	}
	a.give(ctx, s, after.UID)
	return after, err
}

// grow expands the claims of a StatefulSet that is replaced. A dry run tries all of that, and whether the StatefulSet may go then, because
// no claim can shrink again. It also tries whether an object of another kind may go.
func (a *Applier) grow(ctx context.Context, s Step, dryRun bool) error {
	if dryRun && (len(s.Old.Grow) > 0 || s.Old.Ref != s.Ref) {
		if err := a.Cluster.Delete(ctx, s.Old.Ref, s.Old.UID, s.Old.Orphan, true); err != nil && !lacksDryRun(err) {
			return err
		}
	}
	for _, growth := range s.Old.Grow {
		if err := a.Cluster.Grow(ctx, growth, dryRun); err != nil && (!dryRun || !lacksDryRun(err)) {
			return fmt.Errorf("expand PersistentVolumeClaim %q for spec.volumeClaimTemplates: %w", growth.Claim, err)
		}
	}
	return nil
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
func successorName(name string, old types.UID) string {
	suffix := "-dry-run-" + string(old[:min(len(old), 8)])
	return strings.TrimRight(name[:min(len(name), 52-len(suffix))], "-.") + suffix
}

// withOwnName returns a refusal of a dry run as it would be under the object's own name.
func withOwnName(err error, dryRun string, what live.Reference) error {
	if dryRun == "" {
		return err
	}
	return redact.Rewritten(err, func(text string) string { return strings.ReplaceAll(text, dryRun, what.Name()) })
}

// blames tells whether a refusal says that just what makes room is in the way: KEDA's webhook refuses a ScaledObject for a workload
// that a HorizontalPodAutoscaler scales.
func blames(err error, old, successor live.Reference) bool {
	names := map[string][]string{"HorizontalPodAutoscaler": {"hpa", "horizontalpodautoscaler"}, "ScaledObject": {"scaledobject"}}
	said := strings.ToLower(err.Error())
	return old != successor && strings.Contains(said, "'"+old.Name()+"'") &&
		slices.ContainsFunc(names[old.Kind().Kind], func(name string) bool { return strings.Contains(said, "the "+name+" ") })
}
