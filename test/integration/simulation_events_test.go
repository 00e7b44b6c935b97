package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/simulation"
)

// happen has an event take place. Events without a counterpart here do nothing: the watch of a kind that stops (Stop, Resume), because
// the operator has one watch for all namespaces; and the number of the request at which a Secret is written (At). Time does not pass faster
// than it does.
func (s *space) happen(ctx context.Context, e simulation.Event) error {
	switch e.Action {
	case simulation.Edit:
		next := s.spec.With(e.Field, e.Value)
		if next == s.spec || s.collector.DeletionTimestamp != nil {
			return nil
		}
		s.spec = next
		return s.changeCollector(ctx, func(c *v1alpha1.Collector) { c.Spec = realSpec(next) })
	case simulation.Mark:
		return s.mark(ctx, e)
	case simulation.DeleteCollector:
		if s.collector.DeletionTimestamp != nil {
			return nil
		}
		s.collector.DeletionTimestamp = new(metav1.Now())
		s.history.removes(s.collector.UID)
		// Without the precondition, a deletion in the moment when the finalizer is added takes the Collector at once: the API server has
		// looked at it before that.
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			found := newCollector(s.namespace, "c")
			if err := plane.client.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
				return err
			}
			return plane.client.Delete(ctx, found, client.Preconditions{ResourceVersion: &found.ResourceVersion})
		})
	case simulation.CreateCollector:
		return s.create(ctx, simulation.First())
	case simulation.RewriteSecret:
		for range max(1, e.N) {
			written := max(1, s.secret-1) // the content of before
			if e.N > 0 {
				s.secret++
				written = s.secret
			}
			content := map[string]any{"collector.yaml": []byte(contentOf(0, written))}
			if err := s.patch(ctx, s.object("Secret", "team-config"), "user", map[string]any{"data": content}); err != nil {
				return err
			}
		}
		return nil
	case simulation.Refuse:
		if _, isKnown := simulatedKind(e.Target); !isKnown {
			return nil
		}
		s.refusals[labelled(e.Value)+"-"+e.Target] = "true"
		if e.Value == simulation.Quota {
			if err := s.limit(ctx, e.Target); err != nil {
				return err
			}
		}
		return s.refuse(ctx)
	case simulation.Allow:
		return s.allow(ctx)
	case simulation.Timeout:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.countdown, s.timeout = e.N, e.Value
	case simulation.Pods:
		s.mutex.Lock()
		s.neverReady["c"+filesOf(contentOf(e.N, -1))] = e.Value == "never"
		s.mutex.Unlock()
		offer(s.history.changed)
	case simulation.Verdict:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.verdicts["c"+filesOf(contentOf(e.N, -1))] = e.Value
	case simulation.Pass:
		s.await(ctx, 3*time.Second, s.isDone)
	case simulation.Stop, simulation.Resume, simulation.Kill, simulation.Restart, simulation.Rehash,
		simulation.ChangeBase, simulation.DeleteRecords, simulation.Decide:
	default:
		return s.disturb(ctx, e)
	}
	return nil
}

func (s *space) object(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	of, _ := simulatedKind(kind)
	object.SetGroupVersionKind(of)
	object.SetNamespace(s.namespace)
	object.SetName(name)
	return object
}

func (s *space) mark(ctx context.Context, e simulation.Event) error {
	names := map[string]string{"ring": v1alpha1.RingLabel, "rollout": v1alpha1.RolloutLabel, "note": "example.com/note"}
	if label := names[e.Field]; label != "" {
		labels := map[string]any{label: e.Value}
		if e.Value == "" {
			labels[label] = nil
		}
		return s.label(ctx, labels)
	}
	return s.changeCollector(ctx, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.PausedAnnotation, e.Value)
		if e.Value == "" {
			delete(c.Annotations, v1alpha1.PausedAnnotation)
		}
	})
}

// limit has a quota allow no objects of a kind. Its status is what the quota controller would say.
func (s *space) limit(ctx context.Context, kind string) error {
	of, _ := simulatedKind(kind)
	what := "count/" + simulatedKinds[of]
	if of.Group != "" {
		what += "." + of.Group
	}
	limits := corev1.ResourceList{corev1.ResourceName(what): {}}
	limit := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "limit-" + strings.ToLower(kind)},
		Spec:       corev1.ResourceQuotaSpec{Hard: limits},
	}
	if err := plane.client.Create(ctx, limit); err != nil {
		return unlessRefused(err)
	}
	limit.Status = corev1.ResourceQuotaStatus{Hard: limits, Used: limits}
	return plane.client.Status().Update(ctx, limit)
}

// allow ends what the API server refuses.
func (s *space) allow(ctx context.Context) error {
	if len(s.refusals) == 0 {
		return nil
	}
	for label := range s.refusals {
		s.refusals[label] = ""
	}
	if err := plane.client.DeleteAllOf(ctx, &corev1.ResourceQuota{}, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	return s.refuse(ctx)
}

// disturb does something to an object of the Collector.
func (s *space) disturb(ctx context.Context, e simulation.Event) error {
	metadata := func(field string, value any) map[string]any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
	switch e.Action {
	case simulation.Scale:
		return s.scale(ctx, e.N)
	case simulation.Occupy, simulation.Vacate:
		return s.occupy(ctx, e)
	case simulation.Release:
		return s.release(ctx, e.Target)
	}
	ours := s.owned(e.Target)
	if len(ours) == 0 {
		return nil
	}
	object := ours[e.N%len(ours)]
	switch e.Action {
	case simulation.Delete:
		return s.remove(ctx, object)
	case simulation.EditApplied:
		label := []string{"kube8.dev/cluster", "app.kubernetes.io/name", "helm.sh/chart"}[e.N%3]
		patch := metadata("labels", map[string]any{label: "edited-" + s.next()})
		if e.Target == "Service" && e.N%2 == 0 {
			patch["spec"] = map[string]any{"internalTrafficPolicy": "Local"}
		}
		return s.patch(ctx, object, "kubectl-edit", patch)
	case simulation.EditOther:
		return s.patch(ctx, object, "kubectl-annotate", metadata("annotations", map[string]any{"example.com/note": s.next()}))
	case simulation.Hold:
		return s.patch(ctx, object, "holder", metadata("finalizers", []string{"example.com/hold"}))
	case simulation.Recreate:
		if err := s.remove(ctx, object); err != nil {
			return err
		}
		again := s.object(e.Target, object.GetName())
		for _, field := range []string{"spec", "data", "type"} {
			if value, isThere := object.DeepCopy().Object[field]; isThere {
				again.Object[field] = value
			}
		}
		for _, field := range []string{"clusterIP", "clusterIPs"} {
			unstructured.RemoveNestedField(again.Object, "spec", field)
		}
		again.SetLabels(object.GetLabels())
		again.SetOwnerReferences(object.GetOwnerReferences())
		if e.Target == "Job" {
			return nil // its selector is of its UID
		}
		return s.store(ctx, again, "kubectl-create")
	}
	return fmt.Errorf("there is no event %q", e.Action)
}

// scale sets the number of pods, as an autoscaler does.
func (s *space) scale(ctx context.Context, replicas int) error {
	if s.spec.Effective().Replicas != 0 {
		return nil
	}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, object := range s.owned(kind) {
			if now, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); now == int64(replicas) {
				continue
			}
			if err := s.patch(ctx, object, "autoscaler", map[string]any{"spec": map[string]any{"replicas": replicas}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// occupy creates an object of nobody, or deletes it.
func (s *space) occupy(ctx context.Context, e simulation.Event) error {
	content, isKnown := strangers[e.Target]
	if !isKnown {
		return nil
	}
	all := namesOf(e.Target)
	name := all[e.N%len(all)]
	found := s.history.now()[e.Target+"/"+name]
	if e.Action == simulation.Vacate {
		if found != nil && metav1.GetControllerOf(found) == nil {
			return s.remove(ctx, found)
		}
		return nil
	}
	stranger := s.object(e.Target, name)
	if err := yaml.Unmarshal([]byte(content), &stranger.Object); err != nil {
		return err
	}
	of, _ := simulatedKind(e.Target)
	stranger.SetGroupVersionKind(of)
	stranger.SetNamespace(s.namespace)
	stranger.SetName(name)
	return s.store(ctx, stranger, "somebody")
}

// release removes the finalizers of objects of a kind, or of all with an empty one.
func (s *space) release(ctx context.Context, kind string) error {
	for _, object := range s.history.now() {
		if slices.Contains(object.GetFinalizers(), "example.com/hold") && (kind == "" || object.GetKind() == kind) {
			others := slices.DeleteFunc(object.GetFinalizers(), func(name string) bool { return name == "example.com/hold" })
			if err := s.patch(ctx, object, "holder", map[string]any{"metadata": map[string]any{"finalizers": others}}); err != nil {
				return err
			}
		}
	}
	return nil
}
