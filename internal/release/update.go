package release

import (
	"maps"
	"slices"
	"time"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// isDeferred tells whether what was rendered must wait: it is a change that the operator brings, and not the Collector's turn.
// The Collector keeps what it has, and this is in order.
func (r *actionClient) isDeferred() bool {
	if !r.isByOperator() || !r.waits() {
		return false
	}
	if r.objects == nil {
		r.adopt()
	}
	r.inputs, r.since, r.whole, r.deferred = r.version, time.Now(), true, true
	return true
}

// waits tells whether it is not the Collector's turn.
func (r *actionClient) waits() bool {
	r.update = r.Waves.Ask(r.collector)
	return r.update != nil
}

// isByOperator tells whether what was rendered differs from what is deployed although nobody else has changed anything: not
// the spec, not what it refers to, and not an object. A changed object is repaired at once, and the operator can only render
// with the chart that it has.
func (r *actionClient) isByOperator() bool {
	if r.deployed == nil || r.begun || r.rendered.hash == r.hash || r.deployed.Generation != r.version.generation || r.hasDrifted() {
		return false
	}
	if r.inputs != (inputs{}) {
		return r.inputs.configuration == r.version.configuration
	}
	running := r.running(postrender.ReferencesAnnotation)
	return r.rendered.configHash() == r.deployed.ConfigHash && (running == "" || running == r.references)
}

// hasDrifted tells whether somebody has changed or deleted an object since the operator last saw it, or there is no workload.
func (r *actionClient) hasDrifted() bool {
	for what, known := range r.objects {
		object := r.observed[what]
		if !known.isBehind(object) && (object == nil || !known.isInOrder(object)) && time.Now().After(known.next) {
			return true
		}
	}
	return !r.hasWorkload()
}

func (r *actionClient) hasWorkload() bool {
	isWorkload := func(what ref) bool { return stageOf[what.kind().Kind] == workloads }
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.observed)), isWorkload)
}

// settle lets others go first no longer, unless the Collector waits itself.
func (r *actionClient) settle() {
	if r.update == nil {
		r.deferred = false
		r.Waves.Settle(r.collector)
	}
}
