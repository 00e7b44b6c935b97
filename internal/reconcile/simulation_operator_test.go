package reconcile

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/status"
	"github.com/kube8/kube8-operator/test/simulation"
)

// collector returns the Collector as the operator reads it.
func (s *simSpace) collector() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	u.SetName(simName)
	u.SetNamespace(s.namespace())
	u.SetUID(s.uid)
	u.SetGeneration(s.generation)
	labels, annotations := map[string]string{}, map[string]string{}
	for name, value := range map[string]string{v1alpha1.RingLabel: s.ring, v1alpha1.RolloutLabel: s.rollout} {
		if value != "" {
			labels[name] = value
		}
	}
	if s.paused != "" {
		annotations[v1alpha1.PausedAnnotation] = s.paused
	}
	if s.decided.annotation != "" {
		annotations[s.decided.annotation] = s.decided.hash
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	if s.deleting {
		u.SetDeletionTimestamp(&metav1.Time{Time: s.deletedAt})
	}
	if s.said == nil {
		said, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s.state.CollectorStatus)
		if err != nil {
			panic(err)
		}
		s.said = said
	}
	spec := map[string]any{"revisionHistoryLimit": int64(simHistory), "mode": s.spec.Mode}
	if s.spec.Replicas != 0 {
		spec["replicas"] = int64(s.spec.Replicas)
	}
	if s.spec.Autoscaling != "none" {
		scaling := map[string]any{"enabled": true}
		if s.spec.Autoscaling == "keda" {
			scaling["keda"] = map[string]any{}
		}
		spec["autoscaling"] = scaling
	}
	if s.spec.Canary {
		spec["canary"] = map[string]any{"hold": simHold.String()}
	}
	u.Object["status"], u.Object["spec"] = s.said, spec
	return u
}

// reconcile is one reconcile as the stock reconciler has it (helm-operator-plugins, pkg/reconciler/reconciler.go).
func (o *simOperatorProcess) reconcile(s *simSpace) {
	w := s.world
	if !s.exists {
		o.clients.Forget(client.ObjectKey{Namespace: s.namespace(), Name: simName})
		return
	}
	w.steps++
	w.reconciles++
	w.trace("  %s reconcile of %s, generation %d", w.now.Sub(simStart), s.namespace(), s.generation)
	w.deciding, s.earlier = s, nil
	s.begins()
	collector := s.collector()
	if !s.deleting && !s.finalizer {
		if effect, lost := s.request("add the finalizer"); !effect || lost != nil {
			o.fails(s)
			return
		}
		s.finalizer = true
	}
	if isPaused := s.paused == "true" || s.paused == "True"; isPaused && !s.deleting {
		if _, lost := s.writeStatus(collector, s.stock(true, nil), status.Outcome{}); lost != nil {
			o.fails(s)
		}
		return
	}
	err := o.act(s, collector)
	if w.killed {
		return
	}
	outcome := o.clients.Of(collector)
	if !s.exists {
		o.clients.Forget(client.ObjectKeyFromObject(collector))
		return
	}
	w.trace("    %s, in order %t, message %q, error %v", outcome.Verdict, outcome.InOrder, outcome.Message, err)
	s.ends(err)
	isTurn, lost := s.writeStatus(collector, s.stock(false, err), outcome)
	if isTurn {
		s.dirty = true
	}
	if w.killed {
		return
	}
	if err != nil || lost != nil {
		o.fails(s)
		return
	}
	s.soon(o.backoff.Ended(collector, o.clients.Period, outcome))
}

// act asks the action client as the stock reconciler does.
func (o *simOperatorProcess) act(s *simSpace, collector *unstructured.Unstructured) error {
	actions, err := o.clients.ActionClientFor(context.Background(), collector)
	if err != nil {
		return err
	}
	current, _ := actions.Get(simName)
	if s.deleting {
		if !s.finalizer {
			s.exists = false
			return nil
		}
		if _, err := actions.Uninstall(simName); err != nil && !errors.Is(err, helm.ErrNotFound) {
			return err
		}
		if effect, lost := s.request("remove the finalizer"); !effect || lost != nil {
			return lost
		}
		s.gone()
		return nil
	}
	next, err := actions.Upgrade(simName, s.namespace(), nil, map[string]any{})
	if err != nil {
		return err
	}
	if next.Manifest != current.Manifest {
		return errors.New("the stock reconciler has something to decide")
	}
	return actions.Reconcile(current)
}

// fails has the next reconcile come after a delay, as the controller's rate limiter has it.
func (o *simOperatorProcess) fails(s *simSpace) { s.soon(o.backoff.Failed(s.collector())) }

// workload returns the wanted workload, or else another one, if the informer cache has it.
func (s *simSpace) workload() *simObject {
	for _, kind := range []string{simulation.Workloads[s.spec.Mode], "Deployment", "DaemonSet", "StatefulSet"} {
		if found := s.cache[simRef(kind, simName)]; found != nil && found.owner == s.uid {
			return found
		}
	}
	return nil
}
