package release

import (
	"time"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// isDeferred tells whether what was rendered is not to be deployed yet: it is a change that the operator brings, and not the
// Collector's turn. The Collector keeps what it has, and is in order so.
func (r *actionClient) isDeferred() bool {
	return r.isByOperator() && r.waits(r.version)
}

// isStillDeferred tells the same without rendering, for the inputs with which the Collector was found to wait.
func (r *actionClient) isStillDeferred() bool {
	now, err := r.current()
	return err == nil && r.deferred == now && !r.hasDrifted() && r.waits(now)
}

func (r *actionClient) waits(now inputs) bool {
	if r.update = r.Waves.Ask(r.collector); r.update == nil {
		return false
	}
	if r.objects == nil {
		r.adopt()
	}
	r.deferred, r.whole = now, true
	return true
}

// isByOperator tells whether what was rendered differs from what is deployed although the Collector's owner has changed
// nothing, neither in the spec nor in what it refers to nor in the objects. Who changes an object has it repaired at once, and
// the operator can only render with the chart that it has.
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
	for what := range r.observed {
		if stageOf[what.kind.Kind] == workloads {
			return true
		}
	}
	return false
}

// settle lets others go first no longer, unless the Collector waits itself.
func (r *actionClient) settle() {
	if r.update == nil {
		r.deferred = inputs{}
		r.Waves.Settle(r.collector)
	}
}
