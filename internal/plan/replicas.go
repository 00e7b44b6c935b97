package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// The stages of what must not be done if anything else is refused.
const (
	fewer = render.Others + 1 + iota
	growing
)

// stageOf returns when a step is done. A workload that is to have fewer pods is changed late: nothing brings pods back that an autoscaler
// has made. A claim that is there is changed last, because it can grow and not shrink.
func (s *Situation) stageOf(step apply.Step) render.Stage {
	if step.Ref.Kind().Kind == "PersistentVolumeClaim" && step.Action != apply.Create {
		return growing
	}
	number, isSet, _ := unstructured.NestedNumberAsFloat64(step.Object.Content.Object, "spec", "replicas")
	if seen := s.View.Objects[step.Ref]; isSet && step.Action != apply.Create && number < float64(seen.Replicas) {
		return fewer
	}
	return step.Object.Stage
}

// replicas returns how many pods a new workload begins with, if it does not say: as many as the one that it comes in place of.
func (s *Situation) replicas(wanted *render.Object) (most int32, of live.Reference) {
	if wanted.Stage != render.Workloads || wanted.SetsReplicas || wanted.Ref.Kind().Kind == "DaemonSet" {
		return 0, of
	}
	if s.isStopped(wanted) {
		return s.minimum(), wanted.Ref
	}
	for what, seen := range s.View.Objects {
		isLarger := seen.Replicas > most || seen.Replicas == most && most > 0 && what.Use() < of.Use()
		if live.IsWorkload(what.Kind().Kind) && isLarger {
			most, of = seen.Replicas, what
		}
	}
	if most == 0 { // the workload that it comes in place of was deleted while no operator ran
		most, of = s.Pods, wanted.Ref
	}
	if s.View.Orphans > most && s.isOrphaned() {
		return s.View.Orphans, wanted.Ref
	}
	return most, of
}

// scalesUp tells whether a change has a workload take the place of one with more pods, although it is there and does not say how many it
// has. It does so once: the number of pods is an autoscaler's then.
func (s *Situation) scalesUp(wanted *render.Object) bool {
	if s.isStopped(wanted) {
		return true
	}
	seen := s.View.Objects[wanted.Ref]
	most, of := s.replicas(wanted)
	return s.changes() && seen.IsThere() && of != wanted.Ref && most > seen.Replicas
}

// isStopped tells whether a workload is there without pods, and is to have some although its autoscaler makes none: a
// HorizontalPodAutoscaler does nothing for a workload of 0 replicas (k8s.io/kubernetes, pkg/controller/podautoscaler).
func (s *Situation) isStopped(wanted *render.Object) bool {
	seen := s.View.Objects[wanted.Ref]
	if wanted.SetsReplicas || !scales(wanted.Ref) || !seen.IsThere() {
		return false
	}
	return seen.Replicas == 0 && s.minimum() > 0
}

// minimum returns how many pods the wanted HorizontalPodAutoscaler makes at least, or 0 without one.
func (s *Situation) minimum() int32 {
	for i := range s.Want.Objects {
		if s.Want.Objects[i].Ref.Kind().Kind == "HorizontalPodAutoscaler" {
			least, _, _ := unstructured.NestedNumberAsFloat64(s.Want.Objects[i].Content.Object, "spec", "minReplicas")
			return int32(least)
		}
	}
	return 0
}

// areStopped tells whether a workload has no pods, and a HorizontalPodAutoscaler that may be to make some.
func areStopped(view map[live.Reference]live.Seen) bool {
	stopped, autoscaled := false, false
	for what, seen := range view {
		stopped = stopped || scales(what) && seen.Replicas == 0
		autoscaled = autoscaled || what.Kind().Kind == "HorizontalPodAutoscaler"
	}
	return stopped && autoscaled
}

// ScaledPeriod is how often it is looked whether another client's autoscaler is still there.
const ScaledPeriod = time.Minute

// Scaled says that another client's autoscaler sets the number of pods.
const Scaled = "%[1]s sets the number of pods of %[2]s, so the operator leaves it alone; " +
	"set spec.autoscaling.external to true, or delete %[1]s"

// MayBeScaled returns a workload whose number of pods is set by the revision, and owned by another client, which may be an autoscaler.
func (s *Situation) MayBeScaled() (workload live.Reference, may bool) {
	objects := s.Want.Objects
	if s.Accepted != nil {
		objects = slices.Concat(objects, s.Accepted.Want.Objects)
	}
	for i := range objects {
		seen, isThere := s.View.Objects[objects[i].Ref]
		if isThere && objects[i].SetsReplicas && !seen.OwnsReplicas {
			return objects[i].Ref, true
		}
	}
	return workload, false
}

// leaveReplicas leaves the number of pods to the autoscaler that sets it, and says so.
func (s *Situation) leaveReplicas(p *Plan) error {
	objects := slices.Clone(s.Want.Objects)
	for i := range objects {
		if objects[i].Ref != s.Scaled {
			continue
		}
		left, err := objects[i].WithoutReplicas()
		if err != nil {
			return fmt.Errorf("leave the number of pods of %s to %s: %w", s.Scaled, s.ScaledBy, err)
		}
		objects[i] = left
		p.Note(Scaled, s.ScaledBy, s.Scaled)
		p.Sooner(ScaledPeriod)
	}
	s.Want.Objects = objects
	return nil
}

// scales tells whether an autoscaler can set the number of pods of a workload.
func scales(workload live.Reference) bool {
	return workload.Kind().Kind == "Deployment" || workload.Kind().Kind == "StatefulSet"
}

// autoscalers are kinds that exclude each other: an object of one takes the place of an object of the other.
var autoscalers = []string{"HorizontalPodAutoscaler", "ScaledObject"}

// exchange has the creation of an autoscaler delete that of another kind: both cannot be there together.
func (s *Situation) exchange(step *apply.Step) *apply.Step {
	if !slices.Contains(autoscalers, step.Ref.Kind().Kind) {
		return step
	}
	for what, seen := range s.View.Objects {
		if slices.Contains(autoscalers, what.Kind().Kind) && s.Want.Has(what) == nil && seen.IsThere() {
			step.Action, step.Old = apply.Replace, &apply.Old{Ref: what, UID: seen.UID}
		}
	}
	return step
}
