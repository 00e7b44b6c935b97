package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simState is the status of a Collector.
type simState struct {
	revision              int64
	generation            int64
	digest, configHash    string
	ready                 bool
	reason, message       string
	readySince            time.Time
	update, updateMessage string // the reason of UpdatePending
	updateSince           time.Time
	failed                bool
	refused               v1alpha1.RefusedObject
	observed              int64
	replicas              int
	verdict               plan.Verdict
}

func (s simState) String() string {
	return fmt.Sprintf("revision %d of generation %d, %s, Ready %t %s, update %q", s.revision, s.generation, s.verdict, s.ready, s.reason, s.update)
}

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
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	if s.deleting {
		u.SetDeletionTimestamp(&metav1.Time{Time: s.deletedAt})
	}
	status := map[string]any{}
	if s.state.reason != "" { // an operator has written it
		status["observedGeneration"] = s.generation
	}
	if s.state.revision != 0 {
		status["deployedRelease"] = map[string]any{
			"name": simName, "revision": s.state.revision, "generation": s.state.generation, "digest": s.state.digest,
		}
	}
	status["configHash"], status["replicas"] = s.state.configHash, int64(s.state.replicas)
	var conditions []any
	if s.state.update != "" {
		conditions = append(conditions, map[string]any{
			"type": v1alpha1.UpdatePending, "reason": s.state.update, "lastTransitionTime": s.state.updateSince.Format(time.RFC3339),
		})
	}
	status["conditions"] = conditions
	status["refusedObject"] = map[string]any{"kind": s.state.refused.Kind, "name": s.state.refused.Name}
	u.Object["status"], u.Object["spec"] = status, map[string]any{"revisionHistoryLimit": int64(simHistory)}
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
	w.deciding = s
	s.begins()
	collector := s.collector()
	if !s.deleting && !s.finalizer {
		if effect, lost := s.request("add the finalizer"); !effect || lost != nil {
			s.fails()
			return
		}
		s.finalizer = true
	}
	if isPaused := s.paused == "true" || s.paused == "True"; isPaused && !s.deleting {
		s.state.ready, s.state.reason = false, v1alpha1.ReasonPaused
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
	isTurn, lost := s.writeStatus(outcome, err)
	if isTurn {
		s.dirty = true
	}
	if w.killed {
		return
	}
	if err != nil || lost != nil {
		s.fails()
		return
	}
	if after := cmp.Or(outcome.Requeue, o.clients.Period); after > 0 {
		s.soon(min(after, o.clients.Period))
	}
	if !outcome.Verdict.Waits() {
		s.backoff = 0
	}
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
		if _, err := actions.Uninstall(simName); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
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

// fails has the next reconcile come after a delay that grows, as the operator's rate limiter has it.
func (s *simSpace) fails() {
	if !s.isBackingOff() {
		s.backoff = max(2*time.Second, min(2*s.backoff, 2*time.Minute))
		if s.backoffOf != s.generation {
			s.backoff = 2 * time.Second
		}
		s.backoffSince, s.backoffOf = s.world.now, s.generation
	}
	s.soon(s.backoff)
}

func (s *simSpace) isBackingOff() bool {
	return s.backoff > 0 && s.backoffOf == s.generation && s.world.now.Sub(s.backoffSince) < s.backoff
}

// writeStatus keeps the status as internal/status does. It tells whether the status says that it is the Collector's turn: nothing else in a
// status starts a reconcile.
func (s *simSpace) writeStatus(outcome Outcome, err error) (isTurn bool, lost error) {
	before := s.state
	after := before
	after.failed, after.observed, after.verdict = err != nil, s.generation, outcome.Verdict
	after.refused = *cmp.Or(apply.RefusedIn(err), &v1alpha1.RefusedObject{})
	if d := outcome.Deployed; d.Revision != 0 {
		isSame := int64(d.Revision) == before.revision && d.Digest == ""
		after.revision, after.generation, after.configHash = int64(d.Revision), d.Generation, d.ConfigHash
		if !isSame {
			after.digest = d.Digest
		}
	}
	after.ready, after.reason, after.message = s.readiness(outcome, err)
	if s.workload() != nil {
		after.replicas = s.looked
	}
	if after.ready != before.ready {
		after.readySince = s.world.now
	}
	isOnItsWay := before.update == v1alpha1.ReasonRollingOut && !after.ready && (before.ready || !before.readySince.Before(before.updateSince))
	switch {
	case outcome.Update != nil:
		after.update, after.updateMessage = outcome.Update.Reason, outcome.Update.Message
	case !isOnItsWay:
		after.update, after.updateMessage = "", ""
	}
	s.world.tellsChange(after)
	isRolling, wasRolling := after.update == v1alpha1.ReasonRollingOut, before.update == v1alpha1.ReasonRollingOut
	if isRolling != wasRolling || before.update == "" && after.update != "" {
		after.updateSince = s.world.now
	}
	before.verdict, s.state.verdict = after.verdict, after.verdict // which no status has
	if after == before {
		s.observe(outcome)
		return false, nil
	}
	s.isNow = s.rollout == v1alpha1.RolloutNow || s.isNow && isRolling // also if only the write that says so was lost
	effect, lost := s.request("write the status: Ready %t %s, revision %d, update %q", after.ready, after.reason, after.revision, after.update)
	if effect {
		s.world.told++
		if isRolling && !wasRolling {
			s.rollsOut()
		}
		s.state = after
		s.observe(outcome)
	}
	return effect && isRolling && !wasRolling, lost
}

// readiness is what Ready says: by the workload that the informer cache has.
func (s *simSpace) readiness(outcome Outcome, err error) (ready bool, reason, message string) {
	if err != nil {
		return false, v1alpha1.ReasonReleaseFailed, err.Error() + "; " + outcome.Message
	}
	if outcome.Checking != "" {
		return false, v1alpha1.ReasonChecking, ""
	}
	workload := s.workload()
	switch {
	case outcome.Message != "":
		return false, v1alpha1.ReasonProgressing, outcome.Message
	case workload == nil:
		return false, v1alpha1.ReasonProgressing, "no workload"
	}
	status := workload.status
	switch {
	case status.behind, status.updated < status.wanted, status.ready < status.wanted, status.all > status.wanted:
		return false, v1alpha1.ReasonProgressing, fmt.Sprintf("%+v", status)
	case !outcome.InOrder:
		return false, v1alpha1.ReasonProgressing, "not in order"
	}
	return true, v1alpha1.ReasonAvailable, ""
}

// workload returns the wanted workload, if the informer cache has it.
func (s *simSpace) workload() *simObject {
	if found := s.cache[simRef(simulation.Workloads[s.spec.Mode], simName)]; found != nil && found.owner == s.uid {
		return found
	}
	return nil
}
