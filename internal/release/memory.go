package release

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/revision"
)

// memory is what the operator remembers of each Collector. Without it, as after a start, statuses and objects say the same.
type memory struct {
	mutex   sync.Mutex
	entries map[client.ObjectKey]*entry
}

// entry is what is remembered of one Collector. Only its reconcile uses it, and there is one at a time.
type entry struct {
	uid      types.UID // of the Collector
	latest   change    // that was rendered; to the deployed revision, unless a change of the operator waits
	until    time.Time // for how long that can be taken to be unchanged
	expected inventory.Expectations
	waits    map[inventory.Reference]bool // what is pruned once nobody needs it
	deployed revision.Deployed
	records  record.Known

	isUnrecorded bool // the deployed revision has no record yet

	lacked string // what was last said of references that are not followed
	last   Outcome
}

// change is what a Collector was rendered to, and from what.
type change struct {
	revision.Inputs
	hash string
}

func changeOf(rendered *revision.Revision) change { return change{rendered.Inputs, rendered.Hash} }

// Outcome is how the last reconcile of a Collector ended.
type Outcome struct {
	// Verdict is what was decided.
	Verdict plan.Verdict

	// Deployed is the release. It is zero if none was deployed since the operator started.
	Deployed revision.Deployed

	// InOrder says that the informer cache has every object as it should be.
	InOrder bool

	// Obstacle says what keeps objects from being as they should, or is empty.
	Obstacle string

	// Checking says which Job has not accepted a change yet, or is empty.
	Checking string

	// Update says that a change by the operator is not deployed yet, or is nil.
	Update *v1alpha1.Condition

	// Err is the error that ended the reconcile, or nil.
	Err error

	refused change // what Err is about, if it is a change that nobody accepts

	Ended
}

// Ended is how the last reconcile of a Collector went, for the reconciler that asked.
type Ended struct {
	// Fast says that there was nothing to do by what is remembered.
	Fast bool

	// Unfinished says that a change waits for a check or for its turn, although the reconcile ended without an error.
	Unfinished bool

	// Requeue is when to reconcile again although nothing happens; 0 leaves it to the period.
	Requeue time.Duration
}

// of returns the entry of a Collector, which is empty if there is none.
func (m *memory) of(collector client.Object) *entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := client.ObjectKeyFromObject(collector)
	if found := m.entries[key]; found == nil || found.uid != collector.GetUID() {
		m.entries[key] = &entry{uid: collector.GetUID()}
	}
	return m.entries[key]
}

// find returns the entry of a Collector, or nil. It passes over the entry of an earlier Collector with the same name.
func (m *memory) find(key client.ObjectKey, uid types.UID) *entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if found := m.entries[key]; found != nil && found.uid == uid {
		return found
	}
	return nil
}

func (m *memory) forget(collector client.ObjectKey) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.entries, collector)
}
