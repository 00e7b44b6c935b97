package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// handOver keeps the number of pods when it is left to an autoscaler: a field without an owner is set to its default, and
// a busy collector would lose its pods until the autoscaler comes to it.
func (a *Applier) handOver(ctx context.Context, what live.Reference, uid types.UID) error {
	for range 3 {
		current, err := a.Cluster.Read(ctx, what)
		if err != nil || current == nil || current.GetUID() != uid {
			return err // the apply finds out what is there
		}
		replicas, _ := replicasOf(current)
		if replicas == 0 {
			return nil
		}
		part := partOf(current)
		part.Object["spec"] = map[string]any{"replicas": int64(replicas)}
		_, err = a.Cluster.Apply(ctx, Request{
			Ref: what, Content: part, UID: uid, Version: current.GetResourceVersion(), Manager: managedfields.Handover,
		})
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("hand over the number of pods of %s: something changes it again and again", what)
}

// recount has a workload that is created, or scales up, get as many pods as its predecessor has now. It does not scale up if another client
// has given it as many since.
func (a *Applier) recount(ctx context.Context, s *Step) error {
	if s.Action != Create && !s.ScalesUp || s.Replicas == 0 || s.Predecessor == s.Ref {
		return nil
	}
	before, err := a.Cluster.Read(ctx, s.Predecessor)
	if replicas, found := replicasOf(before); found && metav1.IsControlledBy(before, a.Collector) {
		s.Replicas = replicas
	}
	if err != nil || !s.ScalesUp {
		return err
	}
	own, err := a.Cluster.Read(ctx, s.Ref)
	if replicas, found := replicasOf(own); found && replicas >= s.Replicas {
		s.ScalesUp, s.HandsOver = false, true
	}
	return err
}

// replicasOf returns the number of pods that a workload asks for.
func replicasOf(workload *unstructured.Unstructured) (replicas int32, found bool) {
	if workload == nil {
		return 0, false
	}
	number, found, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	return int32(number), found //nolint:gosec // the API server has it as an int32
}

// adopt has the informer cache hold an object that has lost its label.
func (a *Applier) adopt(ctx context.Context, s Step) (*live.Object, error) {
	current, err := a.Cluster.Read(ctx, s.Ref)
	if err != nil || current == nil || current.GetUID() != s.UID || !metav1.IsControlledBy(current, a.Collector) {
		return nil, err
	}
	after, err := a.label(ctx, current)
	return &after, err
}

// label has the informer cache hold an object of the Collector, and changes nothing else of it.
func (a *Applier) label(ctx context.Context, current *unstructured.Unstructured) (live.Object, error) {
	part, what := partOf(current), live.ReferenceTo(current)
	part.SetLabels(map[string]string{v1alpha1.CollectorLabel: a.Collector.GetName()})
	after, err := a.Cluster.Apply(ctx, Request{Ref: what, Content: part, UID: current.GetUID(), Manager: managedfields.Adopter})
	if err != nil {
		return after, fmt.Errorf("label %s: %w", what, err)
	}
	return after, nil
}

// partOf returns what names an object, for an apply of some of its fields.
func partOf(object *unstructured.Unstructured) *unstructured.Unstructured {
	part := &unstructured.Unstructured{Object: map[string]any{}}
	part.SetGroupVersionKind(object.GroupVersionKind())
	part.SetNamespace(object.GetNamespace())
	part.SetName(object.GetName())
	return part
}
