package reconcile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/test/simulation"
)

// happen has an event take place.
func (w *simWorld) happen(e simulation.Event) {
	w.idle = false
	s := w.spaces[e.Collector%len(w.spaces)]
	switch e.Action {
	case simulation.Edit:
		if next := s.spec.With(e.Field, e.Value); next != s.spec && s.exists && !s.deleting {
			s.spec, s.dirty, s.generation = next, true, s.generation+1
		}
	case simulation.Mark:
		s.mark(e)
	case simulation.DeleteCollector:
		if s.exists && !s.deleting {
			s.deleting, s.deletedAt, s.dirty = true, w.now, true
		}
	case simulation.CreateCollector:
		if !s.exists {
			s.create()
		}
	case simulation.RewriteSecret:
		s.secret = max(0, s.secret+e.N)
	case simulation.Refuse:
		s.refusals = append(s.refusals, simRefusal{e.Target, e.Value})
	case simulation.Allow:
		s.refusals = nil
	case simulation.Timeout:
		w.faults[1] = simFault{e.N, e.Value}
	case simulation.Kill:
		w.faults[0], w.nextChart = simFault{e.N, e.Value}, e.Field
	case simulation.Stop:
		s.stopped[e.Target] = true
	case simulation.Resume:
		s.stopped[e.Target] = false
	case simulation.Restart:
		w.chart = e.N
		w.start()
	case simulation.Rehash:
		w.chart = e.N
		w.hashes++
		for _, s := range w.spaces {
			if deployed := s.state.deployed(); deployed.Digest != "" { // that of objects, which are hashed otherwise
				deployed.Digest = deployed.Digest[:40] + strings.Repeat("-", 24)
				s.state.DeployedRelease, s.said = &deployed, nil
			}
		}
		w.start()
	case simulation.DeleteRecords:
		s.records = s.records[:max(0, len(s.records)-e.N)]
	case simulation.ChangeBase:
		w.changeBase(e.N)
	case simulation.Pods:
		s.neverReady[e.N], s.dies[e.N] = e.Value == "never", e.Value == "dies"
	case simulation.Verdict:
		s.verdicts[e.N] = e.Value
	case simulation.Decide:
		s.decide(e.Value)
	case simulation.Pass:
		w.pass(time.Duration(e.N) * time.Second)
	default:
		s.disturb(e)
	}
}

// changeBase has the operator reconcile all Collectors with another content of the base that these share.
func (w *simWorld) changeBase(content int) {
	if w.base == content {
		return
	}
	w.base, w.brings = content, true
	var concerned []*unstructured.Unstructured
	for _, s := range w.spaces {
		if s.exists {
			concerned, s.dirty = append(concerned, s.collector()), true
		}
	}
	w.operator.clients.Waves.Expect(concerned)
}

func (s *simSpace) mark(e simulation.Event) {
	if !s.exists {
		return
	}
	switch e.Field {
	case "paused":
		s.paused = e.Value
	case "ring":
		s.ring = e.Value
	case "rollout":
		s.rollout = e.Value
	}
	s.dirty = true
}

// disturb does something to an object of the Collector.
func (s *simSpace) disturb(e simulation.Event) {
	var ours []*simObject
	for _, object := range s.sorted() {
		if object.kind() == e.Target && object.owner == s.uid && !object.deleting {
			ours = append(ours, object)
		}
	}
	if e.Action == simulation.Scale {
		s.scale(e.N)
		return
	}
	if e.Action == simulation.Occupy || e.Action == simulation.Vacate {
		s.occupy(e)
		return
	}
	if e.Action == simulation.Release {
		s.releaseAll(e.Target)
		return
	}
	if len(ours) == 0 {
		return
	}
	object := ours[e.N%len(ours)]
	after := object.clone()
	if e.Action != simulation.EditOther && e.Action != simulation.Hold {
		s.touched[object.ref] = true
	}
	switch e.Action {
	case simulation.Delete:
		if s.remove(object); object.isWorkload() {
			s.lost = object.replicas()
		}
	case simulation.EditApplied:
		var names []string
		for _, field := range object.fields {
			if field.owners&simOperator != 0 && !slices.Contains([]string{simTemplate, simClaims, simClass, simReplicas, simData}, field.name) {
				names = append(names, field.name)
			}
		}
		if len(names) == 0 {
			return
		}
		field := after.find(names[e.N%len(names)])
		if field.name == "labels.kube8.dev/collector" {
			return // the informer cache goes by it
		}
		if field.value, field.owners, after.editor = "edited", simOther, "kubectl-edit"; field.name == simSize {
			field.value = "5Gi" // as an autoscaler of volumes does
		}
		after.seal()
		s.store(after)
	case simulation.EditOther:
		after.set("annotations.note", strconv.Itoa(s.version))
		after.editor = "kubectl-annotate"
		after.seal()
		s.store(after)
	case simulation.Hold:
		after.finalizers = []string{"example.com/hold"}
		s.store(after)
	case simulation.Recreate:
		fields := slices.Clone(object.fields)
		for i := range fields {
			fields[i].owners = simOther
		}
		fields = slices.DeleteFunc(fields, func(field simField) bool { return field.name == simApplied || field.name == simChecked })
		s.remove(object)
		if s.objects[object.ref] != nil {
			return
		}
		again := &simObject{ref: object.ref, uid: s.newUID(), owner: s.uid, created: s.world.now, fields: fields, editor: "kubectl-create"}
		again.status.behind = true
		s.store(again)
	}
}

// scale sets the number of pods, as an autoscaler does.
func (s *simSpace) scale(replicas int) {
	target := s.accepted.First(render.Workloads)
	for _, object := range s.sorted() {
		isScaled := (object.kind() == "Deployment" || object.kind() == "StatefulSet") && (target == nil || target.Ref == object.ref)
		if !isScaled || object.owner != s.uid || object.deleting || s.spec.Effective().Replicas != 0 || object.replicas() == replicas {
			continue
		}
		after := object.clone()
		if field := after.find(simReplicas); field != nil && field.owners&simOperator != 0 {
			s.touched[object.ref] = true
		}
		after.set(simReplicas, strconv.Itoa(replicas))
		after.editor = "autoscaler"
		after.seal()
		s.store(after)
	}
}

// occupy creates an object without owner, and deletes it.
func (s *simSpace) occupy(e simulation.Event) {
	names := []string{simName}
	switch e.Target {
	case "Secret":
		names = []string{"c-config-1", "c-config-2", "c-config-3"}
	case "ServiceAccount":
		names = []string{"c", "other", "third"}
	case "PersistentVolumeClaim":
		names = []string{"c-0", "c-1"}
	case "Job":
		return
	}
	what := simRef(e.Target, names[e.N%len(names)])
	found := s.objects[what]
	switch {
	case e.Action == simulation.Occupy && found == nil:
		s.store(&simObject{ref: what, uid: s.newUID(), created: s.world.now, fields: []simField{{"spec.of", "somebody else", simOther}}})
	case e.Action == simulation.Vacate && found != nil && found.owner == "":
		s.remove(found)
	}
}

// releaseAll removes the finalizers of objects of a kind, or of all with an empty one.
func (s *simSpace) releaseAll(kind string) {
	for _, object := range s.sorted() {
		if len(object.finalizers) == 0 || kind != "" && object.kind() != kind {
			continue
		}
		after := object.clone()
		after.finalizers = nil
		if s.store(after); after.deleting {
			s.remove(after)
		}
	}
}

// gone notes that the Collector has gone.
func (s *simSpace) gone() {
	s.exists, s.deleting, s.finalizer = false, false, false
	s.pods = slices.DeleteFunc(s.pods, func(pod *simPod) bool { return pod.owner == "" && !pod.shown }) // S5 leaves them
	if len(s.records) > 0 {
		s.world.violates("S5", "%d records outlive the Collector", len(s.records))
	}
	s.dirty = true
}

// dropTouched notes that the operator has repaired what others had touched.
func (s *simSpace) dropTouched() { s.touched = map[live.Reference]bool{} }
