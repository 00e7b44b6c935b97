package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/status"
)

// memory is what the operator remembers of a Collector between two reconciles. It only caches. After a restart it is empty, and an
// operator knows this:
//   - The status tells which revision is deployed, and which are recorded (history.Recall). It also tells how far a canary is, which
//     object was refused last (apply.ReportedRefusal), and which Collectors are on their way in a wave (rollout).
//   - The status's digest tells whether inputs and objects are as they were (look, in look.go). If they are, latest, expected and begun
//     follow from it, without a request. Otherwise each object is of unknown state, and is applied once.
//   - The record of the next revision tells of a change that has begun (findBegun, in history.go).
//   - The record of the deployed revision tells how its objects must be, once one has drifted (readAccepted, in history.go).
//
// The rest is lost, and is found out again: what waits to be pruned, from objects and pods; who scales; who edits an object repeatedly;
// since when canary pods lack; why something could not be mended. Delays after failures begin anew. A change that was refused after its
// proof is proven again.
type memory struct {
	uid      types.UID // of the Collector
	latest   change    // that was rendered; to the deployed revision, unless a change of the operator waits
	until    time.Time // for how long that can be taken to be unchanged
	expected live.Expectations
	toPrune  map[live.Reference]bool // when no pod needs them any more
	deployed history.Deployed
	begun    *v1alpha1.RecordedRevision // and not accepted yet; of revision 0 if there is none, and nil until it is known
	touched  bool                       // something may have been written since it began
	unmended unmended
	scaled   scaled
	lacking  time.Time // since when fewer canary pods than asked for are there; zero if none lacks
	lacked   string    // what was last said of references that are not followed
	last     status.Outcome
	refused  change // what the last error is about, if it is a change that is refused
	proven   string // the hash of that change, if canary pods have proven it
}

// unmended is why the deployed revision could not be mended, and what was harmed then.
type unmended struct {
	err    error
	harmed map[live.Reference]bool
}

// scaled says that another client's autoscaler sets the number of pods of a workload, and when to look for the autoscaler again.
type scaled struct {
	by    string
	what  live.Reference
	until time.Time
}

// change is what a Collector was rendered to, and from what.
type change struct {
	history.Inputs
	hash string
}

// Of returns how the last reconcile of a Collector ended.
func (c *Clients) Of(collector client.Object) status.Outcome {
	if known := c.remembered(client.ObjectKeyFromObject(collector)); known.uid == collector.GetUID() {
		return known.last
	}
	return status.Outcome{}
}

// Last returns how the last reconcile of a Collector of a name ended.
func (c *Clients) Last(collector client.ObjectKey) status.Outcome {
	return c.remembered(collector).last
}

// Knows tells whether a Collector has been reconciled since the operator started.
func (c *Clients) Knows(collector client.ObjectKey, uid types.UID) bool {
	return c.remembered(collector).uid == uid
}

// Forget forgets a Collector that the informer cache does not have any more.
func (c *Clients) Forget(collector client.ObjectKey) {
	c.memories.Delete(collector)
	c.Waves.Forget(collector)
}

// remembered returns what is remembered of the Collector of a name, which may be an earlier Collector. Only its reconcile writes it, and
// there is one at a time.
func (c *Clients) remembered(key client.ObjectKey) memory {
	found, _ := c.memories.Load(key)
	known, _ := found.(memory)
	return known
}

// keep stores what a reconcile has returned, unless the Collector was forgotten meanwhile.
func (c *Clients) keep(key client.ObjectKey, known memory) {
	if c.remembered(key).uid == known.uid {
		c.memories.Store(key, known)
	}
}
