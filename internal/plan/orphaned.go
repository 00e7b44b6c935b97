package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// isOrphaned tells whether pods run without their StatefulSet, or are about to: it was deleted without them, to be created again. The
// informer cache may still show it, or show it before it has taken its pods back.
func (s *Situation) isOrphaned() bool {
	others := false
	for what, seen := range s.View.Objects {
		switch kind := what.Kind().Kind; {
		case !live.IsWorkload(kind):
		case kind == "StatefulSet" && s.View.Orphans > 0,
			seen.State == live.Deleting && slices.Contains(seen.Finalizers, metav1.FinalizerOrphanDependents):
			return true
		case s.Deletes && seen.State == live.Deleting: // it goes, and takes only its own pods with it
		case seen.State != live.Lost, !seen.Pending && kind != "StatefulSet": // the deployed one, whether it is there or not
			others = true
		}
	}
	return s.View.Orphans > 0 && !others
}

// loses tells whether pods have lost their StatefulSet, which may come back, and a workload of another kind is to take its place.
func (s *Situation) loses() bool {
	workload := s.Want.First(render.Workloads)
	isOther := workload != nil && workload.Ref.Kind().Kind != "StatefulSet"
	return isOther && s.comesBack("StatefulSet") && s.isOrphaned()
}

// awaitSet returns the plan while pods have lost their StatefulSet, and a workload of another kind is to take its place. If a finalizer
// holds the StatefulSet, an event tells when it has gone.
func (s *Situation) awaitSet() Plan {
	p := Plan{Verdict: Deferred, Restores: true}
	for what, seen := range s.View.Objects {
		if what.Kind().Kind == "StatefulSet" && seen.State == live.Deleting {
			p.Note("%s is being deleted%s; the deployed one takes its pods back before the mode changes", what, heldBy(seen.Finalizers))
			return p
		}
	}
	p.After, p.Message = live.CacheDelay, "the deployed StatefulSet takes its pods back before the mode changes"
	return p
}

// orphanedPods deletes pods that no StatefulSet takes back: none is wanted.
func (s *Situation) orphanedPods() (deletes []apply.Step) {
	reason := "its StatefulSet has gone, and another workload has taken its place"
	if s.Deletes {
		reason = "the Collector is being deleted"
	}
	if wanted := s.Want.First(render.Workloads); !s.Deletes && (wanted == nil || wanted.Ref.Kind().Kind == "StatefulSet") {
		return nil
	}
	for _, pod := range s.View.Pods {
		if pod.Orphan && !pod.Deleting {
			deletes = append(deletes, apply.Step{Action: apply.Delete, Ref: pod.Ref(), UID: pod.UID, Reason: reason})
		}
	}
	return deletes
}

// comesBack tells whether a workload of a kind that has gone may come back, because the deployed revision has it.
func (s *Situation) comesBack(kind string) bool { return s.mayDeploy(kind) && s.mayMend() }

// mayDeploy tells whether the deployed revision may have a workload of a kind. Before its record is read, that is not known. A record that
// is lost brings nothing back.
func (s *Situation) mayDeploy(kind string) bool {
	if s.Accepted == nil || s.Accepted.Err != nil {
		return s.Deployed != ""
	}
	workload := s.Accepted.Want.First(render.Workloads)
	return workload != nil && workload.Ref.Kind().Kind == kind
}
