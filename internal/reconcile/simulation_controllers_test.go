package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/test/simulation"
)

// controllers is one moment of the controllers of Kubernetes. Each makes at most one step for each of its objects.
func (s *simSpace) controllers() {
	current := map[string]bool{"": true}
	for _, object := range s.sorted() {
		if object.owner != "" && (object.owner != s.uid || !s.exists) && !object.deleting {
			s.remove(object) // garbage collection
			continue
		}
		current[string(object.uid)] = true
	}
	s.pods = slices.DeleteFunc(s.pods, func(pod *simPod) bool {
		gone := !current[string(pod.owner)]
		s.world.idle = s.world.idle && !gone
		return gone
	})
	for _, object := range s.sorted() {
		switch {
		case object.isWorkload() && !object.deleting:
			s.runWorkload(object)
		case object.kind() == "Job" && !object.deleting:
			s.runJob(object)
		}
	}
}

// runWorkload is the model of the workload controllers.
func (s *simSpace) runWorkload(o *simObject) {
	wanted, template := o.replicas(), o.get(simTemplate)
	var own []*simPod
	for _, pod := range s.pods {
		if o.kind() == "StatefulSet" && pod.owner == "" && pod.ordinal >= 0 {
			pod.owner = o.uid // adopted
		}
		if pod.owner == o.uid {
			own = append(own, pod)
		}
	}
	if from, isCanary := o.partition(); isCanary {
		s.runCanary(o, own, wanted, from)
		s.becomeReady(own)
		s.tellStatus(o, wanted, template)
		return
	}
	isNew := func(pod *simPod) bool { return pod.template == template }
	isCondemned := func(pod *simPod) bool { return o.kind() == "StatefulSet" && pod.ordinal >= wanted }
	isReady := func(pod *simPod) bool { return pod.ready }
	isOld := func(pod *simPod) bool { return !isNew(pod) }
	isNewUnready := func(pod *simPod) bool { return isNew(pod) && !pod.ready }
	isOldUnready := func(pod *simPod) bool { return isOld(pod) && !pod.ready }
	replaces := o.kind() == "StatefulSet" || o.takesHostPort() // one goes before the next one comes
	surge := 1
	if replaces {
		surge = 0
	}
	slices.SortStableFunc(own, func(a, b *simPod) int { return a.ordinal - b.ordinal }) // the last one goes first
	s.needsNoProof(o, template)
	firstLacking := len(own) + wanted
	for _, pod := range own {
		if o.lacks(pod) && pod.ordinal < wanted {
			firstLacking = min(firstLacking, pod.ordinal)
		}
	}
	switch {
	case firstLacking < len(own)+wanted: // no volume can be added to a pod, and nothing else is done
		if firstFree(own) < min(firstLacking, wanted) {
			s.startPod(o, own, template)
		}
	case simCount(own, isCondemned) > 0:
		s.removePod(own, isCondemned)
	case simCount(own, isNew) > wanted:
		s.removePod(own, isNew)
	case simCount(own, isOldUnready) > 0:
		s.removePod(own, isOldUnready)
	case simCount(own, isOld) > 0 && simCount(own, isReady) > wanted:
		s.removePod(own, isOld)
	case simCount(own, isNew) < wanted && len(own) < wanted+surge && (o.kind() != "StatefulSet" || simCount(own, isNewUnready) == 0):
		s.mustBeProven(o, template, "another pod has the template")
		s.startPod(o, own, template)
	case simCount(own, isOld) > 0 && replaces && simCount(own, isNewUnready) == 0:
		s.removePod(own, isOld)
	}
	for _, pod := range own {
		pod.canary = pod.canary && isOld(pod)
	}
	s.becomeReady(own)
	s.tellStatus(o, wanted, template)
}

// becomeReady has one pod become ready, if one can, or die.
func (s *simSpace) becomeReady(own []*simPod) {
	for _, pod := range own {
		if dies := !pod.ready && s.has(s.dies, pod.template); dies && !pod.died {
			pod.died, s.world.idle = true, false
			s.soon(500 * time.Millisecond)
		}
		if becomes := s.becomesReady(pod); becomes != pod.ready {
			pod.ready, pod.since, s.world.idle = becomes, s.world.now, false
			break
		}
	}
	s.proves()
}

// kept returns why an object may not be deleted, or nil.
func (s *simSpace) kept(what live.Reference) error {
	if slices.Contains(s.refusals, simRefusal{what.Kind().Kind, simulation.Keeper}) {
		return apierrors.NewForbidden(simResource(what), what.Name(), errors.New(simulation.Keeper+" denied the request"))
	}
	return nil
}

// has tells whether pods of a template have one of some configurations.
func (s *simSpace) has(configurations map[int]bool, template string) bool {
	for configuration, is := range configurations {
		if is && strings.Contains(template, fmt.Sprintf("%s-config-%d ", simName, configuration)) {
			return true
		}
	}
	return false
}

// lacks tells whether a pod has no volume of the claim of a StatefulSet.
func (o *simObject) lacks(pod *simPod) bool {
	return o.kind() == "StatefulSet" && o.get(simClaims) != "" && !pod.claims
}

// firstFree returns the lowest ordinal that no pod has.
func firstFree(pods []*simPod) (ordinal int) {
	for slices.ContainsFunc(pods, func(pod *simPod) bool { return pod.ordinal == ordinal }) {
		ordinal++
	}
	return ordinal
}

func (s *simSpace) startPod(o *simObject, own []*simPod, template string) {
	pod := &simPod{template: template, owner: o.uid, ordinal: -1, since: s.world.now}
	uses, _, _ := strings.Cut(template, "|")
	for use := range strings.FieldsSeq(uses) {
		if kind, name, _ := strings.Cut(use, "/"); s.objects[simRef(kind, name)] == nil && kind == "ServiceAccount" {
			return // the API server refuses it
		}
	}
	if o.kind() == "StatefulSet" {
		pod.ordinal, pod.claims = firstFree(own), o.get(simClaims) != ""
		if size := o.get(simClaims); size != "" {
			claim := simRef("PersistentVolumeClaim", fmt.Sprintf("data-%s-%d", simName, pod.ordinal))
			if s.objects[claim] == nil {
				s.store(&simObject{ref: claim, uid: s.newUID(), created: s.world.now, fields: []simField{{"spec.size", size, simOther}}})
			}
		}
	}
	if len(own) > simMostPods {
		panic("the model starts pods without end: " + o.String())
	}
	pod.name = fmt.Sprintf("%s-%d", o.kind(), s.world.pods)
	s.world.pods++
	s.pods = append(s.pods, pod)
	s.world.idle = false
}

func simCount(pods []*simPod, is func(*simPod) bool) (count int) {
	for _, pod := range pods {
		if is(pod) {
			count++
		}
	}
	return count
}

// removePod removes the last of some pods that is of a sort.
func (s *simSpace) removePod(pods []*simPod, is func(*simPod) bool) {
	for _, pod := range slices.Backward(pods) {
		if is(pod) {
			s.pods = slices.DeleteFunc(s.pods, func(other *simPod) bool { return other == pod })
			s.world.idle = false
			return
		}
	}
}

// becomesReady tells whether a pod is ready, or is about to be: it has what it mounts, and its configuration lets it.
func (s *simSpace) becomesReady(pod *simPod) bool {
	if pod.ready {
		return true
	}
	for _, use := range pod.uses() {
		kind, name, _ := strings.Cut(use, "/")
		if s.objects[simRef(kind, name)] == nil {
			return false
		}
	}
	if strings.HasSuffix(pod.template, "host port") && slices.ContainsFunc(s.pods, func(other *simPod) bool {
		return other != pod && other.owner != pod.owner && strings.HasSuffix(other.template, "host port")
	}) {
		return false
	}
	return !s.has(s.dies, pod.template) && !s.has(s.neverReady, pod.template)
}

func (s *simSpace) tellStatus(o *simObject, wanted int, template string) {
	status := simStatus{wanted: wanted, revision: template}
	for _, pod := range s.pods {
		if pod.owner != o.uid {
			continue
		}
		status.all++
		if pod.template == template {
			status.updated++
		}
		if pod.ready {
			status.ready++
		}
	}
	if from, _ := o.partition(); from > 0 {
		status.updated = wanted // the others are not waited for
	}
	if status != o.status {
		after := o.clone()
		after.status = status
		s.store(after)
	}
}

// runJob is the model of the Job controller.
func (s *simSpace) runJob(o *simObject) {
	if o.ended.Type != "" {
		return
	}
	for use := range strings.FieldsSeq(o.uses()) {
		kind, name, _ := strings.Cut(use, "/")
		if s.objects[simRef(kind, name)] == nil {
			return // its pod cannot start
		}
	}
	after := o.clone()
	verdict := "accepted"
	for configuration, found := range s.verdicts {
		if strings.Contains(o.uses(), fmt.Sprintf("%s-config-%d ", simName, configuration)) {
			verdict = found
		}
	}
	if s.completed[o.ref.Name()] {
		verdict = "accepted" // what was accepted once is not refused later
	}
	exit := "Container collector for pod ns/c failed with exit code %d matching FailJob rule at index 1"
	switch verdict {
	case "accepted":
		after.ended = batchv1.JobCondition{Type: batchv1.JobComplete}
	case "refused":
		after.ended = batchv1.JobCondition{Type: batchv1.JobFailed, Reason: batchv1.JobReasonPodFailurePolicy, Message: fmt.Sprintf(exit, 3)}
	case "killed":
		after.ended = batchv1.JobCondition{Type: batchv1.JobFailed, Reason: batchv1.JobReasonPodFailurePolicy, Message: fmt.Sprintf(exit, 137)}
	case "late":
		after.ended = batchv1.JobCondition{Type: batchv1.JobFailed, Reason: batchv1.JobReasonDeadlineExceeded}
	}
	s.completed[o.ref.Name()] = verdict == "accepted"
	s.store(after)
}

// used tells what is used: by pods that the informer cache has shown, and by the workloads that may start some.
func (s *simSpace) used(what live.Reference) bool {
	use := what.Use()
	for _, pod := range s.decidedBy {
		if slices.Contains(s.pods, pod) && slices.Contains(pod.uses(), use) {
			return true
		}
	}
	for _, object := range s.sorted() {
		if object.isWorkload() && object.owner == s.uid && !object.deleting && slices.Contains(strings.Fields(object.uses()), use) {
			return true
		}
	}
	return false
}
