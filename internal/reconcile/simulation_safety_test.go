package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/rollout"
	"github.com/kube8/kube8-operator/test/simulation"
)

// begins notes how things are before a reconcile.
func (s *simSpace) begins() {
	s.started, s.removing, s.reads = maps.Clone(s.objects), map[types.UID]bool{}, map[types.UID]*simObject{}
	s.want, s.before, s.fresh = plan.Want{}, s.accepted.Hash, !s.lagsAnywhere()
	s.isHeld = s.rollout != v1alpha1.RolloutNow && !rollout.IsTurn(s.state.update())
	s.told, s.last = int(s.state.Replicas), cmp.Or(s.mostReplicas(s.started), s.last)
	s.unfinished = slices.ContainsFunc(s.records, s.isLater)
}

// serves tells whether a workload of the Collector is there.
func (s *simSpace) serves() bool {
	for _, object := range s.started {
		if object.isWorkload() && object.owner == s.uid {
			return true
		}
	}
	return false
}

// isProtected tells whether a refused change must leave an object alone. A mounted Secret is immutable, see deletes.
func isProtected(o *simObject) bool {
	stage := render.StageOf(o.kind())
	return stage == render.Network || stage == render.Workloads ||
		o.kind() == "HorizontalPodAutoscaler" || o.kind() == "ScaledObject"
}

// refusal tells which refusal of what was rendered last a dry run would have told, or which check has not accepted it. It is empty
// if nothing refuses it.
func (s *simSpace) refusal() string {
	if s.want.Hash == "" || s.want.Hash == s.accepted.Hash {
		return ""
	}
	if s.want.Hash == simBroken {
		return "the configuration"
	}
	marked, job := s.markedAs(s.want)
	if job != "" && !s.completed[job] {
		return "the check " + job
	}
	for _, wanted := range marked.Objects {
		if why := s.refusalOf(&wanted); why != "" {
			return why
		}
	}
	return ""
}

// refusalOf tells what refuses one object that has to be applied.
func (s *simSpace) refusalOf(wanted *render.Object) string {
	current, seen := s.objects[wanted.Ref], s.view[wanted.Ref]
	switch {
	case seen.Hash == wanted.Hash && seen.State != live.Changed && seen.State != live.Lost:
		return "" // it is not asked
	case current != nil && current.owner != s.uid:
		return wanted.Ref.String() + " is somebody else's"
	case current != nil && current.get(simApplied) == wanted.Hash:
		return ""
	case current != nil && current.deleting && (seen.State != live.Deleting || s.accepted.Hash == ""):
		return "" // it is unknown, or nothing serves, so there are no dry runs
	case current != nil && current.deleting:
		current = nil // it is created when that has gone
	case current != nil && current.kind() == "StatefulSet":
		size := s.claimSize(wanted)
		accepted := s.accepted.First(render.Workloads)
		isKnown := accepted != nil && accepted.Ref == wanted.Ref && s.isRecorded()
		isAsked := !isKnown || s.claimSize(accepted) != size // a change that was not accepted may have grown them
		if before := current.find(simClaims); isAsked && size != "" && before != nil && size < before.value && s.holds() {
			return "claims cannot shrink"
		}
	}
	if wanted.Ref.Kind().Kind == "PersistentVolumeClaim" && current != nil && simShrinks(current, simSizeOf(wanted)) && !s.isSized(wanted) {
		return "claims cannot shrink"
	}
	ofKind := slices.DeleteFunc(slices.Clone(s.refusals), func(refusal simRefusal) bool { return refusal.kind != wanted.Ref.Kind().Kind })
	if slices.ContainsFunc(ofKind, func(refusal simRefusal) bool {
		return slices.Contains(simulation.Blind, refusal.how)
	}) {
		return "" // a dry run tells nothing
	}
	if hpa := s.objects[simRef("HorizontalPodAutoscaler", simName)]; wanted.Ref.Kind().Kind == "ScaledObject" && hpa != nil {
		return "" // KEDA's webhook says so first
	}
	for _, refusal := range ofKind {
		if refusal.how != simulation.Quota || current == nil {
			return refusal.how + " of " + wanted.Ref.String()
		}
	}
	return ""
}

// holds tells whether a claim of a StatefulSet is there.
func (s *simSpace) holds() bool {
	return slices.ContainsFunc(s.sorted(), func(o *simObject) bool {
		return o.kind() == "PersistentVolumeClaim" && strings.HasPrefix(o.ref.Name(), simClaim+"-")
	})
}

// claimSize returns the size of the claims of a StatefulSet.
func (s *simSpace) claimSize(wanted *render.Object) string {
	for _, field := range s.world.charts.flatten(wanted.Content) {
		if field.name == simClaims {
			return field.value
		}
	}
	return ""
}

// markedAs returns what is wanted once its check has accepted it, and the Job's name.
func (s *simSpace) markedAs(want plan.Want) (plan.Want, string) {
	job, known := want.First(render.Checks), s.world.charts
	if job == nil {
		return want, ""
	}
	key := want.Hash + want.Objects[0].Hash // which tells its labels
	if found, isKnown := known.marked[key]; isKnown {
		return found, job.Ref.Name()
	}
	marked, err := want.Accepted(job)
	if err != nil {
		panic(err)
	}
	if len(known.marked) > 2000 || known.marked == nil {
		known.marked = map[string]plan.Want{}
	}
	known.marked[key] = marked
	return marked, job.Ref.Name()
}

// wrote checks a write of the operator that the API server accepts. before is nil for a creation.
func (s *simSpace) wrote(before, after *simObject) {
	w := s.world
	if before != nil && before.owner != s.uid {
		w.violates("S4", "%s is written, and is not the Collector's", after.ref)
	}
	if isFirst := before == nil && after.isWorkload() && len(s.pods) == 0; isFirst && !s.isRecorded() { // a proof would protect none
		s.proven[after.get(simTemplate)] = true
	}
	isMounted := before != nil && after.kind() != "Secret" && s.mounts(after.ref)
	if s.deleting || !isProtected(after) && !isMounted || !s.serves() || s.touched[after.ref] || s.accepted.Hash == "" { // a first one, half begun
		return
	}
	isNew := before == nil || simDiffers(before, after)
	s.mustBeLimited(before, after)
	if why := cmp.Or(s.refusal(), s.rolledBack(s.want)); why != "" && isNew && !s.isAccepted(after) {
		w.violates("S1", "%s is written although %s refuses the change", after.ref, why)
	}
}

// isAccepted tells whether an object is as the last accepted revision, or the begin of the reconcile, has it.
func (s *simSpace) isAccepted(after *simObject) bool {
	if before := s.started[after.ref]; before != nil && !simDiffers(before, after) {
		return true
	}
	all := []simInputs{s.acceptedOf}
	for _, known := range s.records {
		if int64(known.revision) == s.state.revision() {
			all = append(all, known.of) // a kill has kept the status from telling of a later one
		}
	}
	for _, in := range all {
		if in.uid == "" {
			continue // nothing was ever accepted
		}
		accepted, _ := s.markedAs(s.world.charts.render(in))
		if found := accepted.Has(after.ref); found != nil && found.Hash == after.get(simApplied) {
			return true
		}
	}
	return false
}

// simDiffers tells whether what an object does differs, not only who owns its fields.
func simDiffers(a, b *simObject) bool {
	if a == nil || b == nil {
		return a != b
	}
	spec := func(o *simObject) (values []string) {
		for _, field := range o.fields {
			if strings.HasPrefix(field.name, "spec.") && field.name != simReplicas {
				values = append(values, field.name, field.value)
			}
		}
		return values
	}
	return a.replicas() != b.replicas() || !slices.Equal(spec(a), spec(b))
}

// deletes checks a deletion by the operator.
func (s *simSpace) deletes(o *simObject, orphan bool) {
	w := s.world
	if o.owner != s.uid {
		w.violates("S4", "%s is deleted, and is not the Collector's", o.ref)
	}
	if s.deleting || s.started[o.ref] == nil { // a first revision that meets an object of another owner is taken back
		return
	}
	why, accepted := s.refusal(), s.acceptedTemplate(o)
	_, isCanary := o.partition()
	isOther := accepted != "" && accepted != o.get(simTemplate) || s.hasOtherClaims(o) // also if another client has edited what tells a canary
	if orphan && (isCanary || isOther) {                                               // the accepted StatefulSet takes its place
		why = ""
	}
	switch stage := render.StageOf(o.kind()); {
	case stage == render.Mounts && s.used(o.ref):
		w.violates("S1", "%s is deleted, and used", o.ref)
	case why != "" && isProtected(o) && s.serves() && (o.isWorkload() || s.accepted.Has(o.ref) != nil): // others are no accepted revision's
		w.violates("S1", "%s is deleted although %s refuses the change", o.ref, why)
	case o.isWorkload() && !orphan:
		s.deletesWorkload(o)
	}
	if marked, _ := s.markedAs(s.want); o.kind() == "PersistentVolumeClaim" && marked.Has(o.ref) != nil {
		w.violates("S5", "%s is deleted, and wanted", o.ref)
	}
}

// deletesWorkload checks that what comes in the place of a workload serves.
func (s *simSpace) deletesWorkload(o *simObject) {
	wanted := s.want.First(render.Workloads)
	if wanted == nil || wanted.Excludes || wanted.Ref == o.ref {
		if wanted != nil && wanted.Ref == o.ref {
			s.world.violates("S1", "%s is deleted, and wanted", o.ref)
		}
		return
	}
	ready := slices.ContainsFunc(s.pods, func(pod *simPod) bool { return pod.owner == o.uid && pod.ready })
	if ready && !s.view[wanted.Ref].Serves {
		s.world.violates("S1", "%s is deleted, and %s does not serve yet", o.ref, wanted.Ref)
	}
}

// ends checks a reconcile that has ended.
func (s *simSpace) ends(err error) {
	if s.deleting || !s.exists {
		return
	}
	spec, workloads := s.spec.Effective(), 0
	for _, object := range s.started {
		if object.isWorkload() && object.owner == s.uid {
			workloads++
		}
	}
	s.asked = s.asked && workloads > 1
	wanted, isLate := s.want.First(render.Workloads), s.accepted.Hash == s.before
	if spec.Replicas != 0 || isLate && wanted != nil && workloads > 1 && s.started[wanted.Ref] != nil {
		s.asked = true // the other workload is still to go: of two that serve, the one that is wanted stays as it is
	}
	if s.asked || workloads > 2 || !s.fresh { // the operator cannot know
		return
	}
	if accepted := s.accepted.First(render.Workloads); accepted != nil && accepted.SetsReplicas {
		return // the change that leaves the number to an autoscaler is not accepted yet
	}
	for what := range s.touched {
		if live.IsWorkload(what.Kind().Kind) && workloads > 0 {
			return // another client has changed what the spec says
		}
	}
	before, after := s.mostReplicas(s.started), s.mostReplicas(s.objects)
	if workloads == 0 && after > 0 {
		before = min(s.told, s.lost, s.last)
	}
	if wanted != nil {
		was, now := s.started[wanted.Ref], s.objects[wanted.Ref]
		if now != nil && !now.deleting && (s.accepted.Hash != s.before || was == nil || was.uid != now.uid) {
			after = now.replicas() // the other one goes
		}
	}
	if after < before && spec.Replicas == 0 && spec.Mode != "daemonset" && err == nil {
		s.world.violates("S3", "%d replicas are %d after a reconcile", before, after)
	}
}

// mostReplicas is how many pods the largest Deployment or StatefulSet is to have.
func (s *simSpace) mostReplicas(objects map[live.Reference]*simObject) (most int) {
	for _, object := range objects {
		if (object.kind() == "Deployment" || object.kind() == "StatefulSet") && object.owner == s.uid && !object.deleting {
			most = max(most, object.replicas())
		}
	}
	return most
}
