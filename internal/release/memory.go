package release

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
)

// memory is what the operator remembers of each Collector. Without it, as after a start, statuses and objects say the same.
type memory struct {
	mutex   sync.Mutex
	entries map[client.ObjectKey]*entry
}

// entry is what is remembered of one Collector. Only its reconcile uses it, and there is one at a time.
type entry struct {
	uid      types.UID // of the Collector
	inputs   inputs    // that the objects were last rendered from
	renders  string    // the hash of what was rendered then; that of the deployed revision, unless a change of the operator waits
	until    time.Time // for how long that can be taken to be unchanged
	expected inventory.Expectations
	waits    map[inventory.Reference]bool // what is pruned once nobody needs it
	deployed *Deployed
	records  record.Known

	isUnrecorded bool // the deployed revision has no record yet

	lacked string // what was last said of references that are not followed
	last   Outcome
}

// inputs tell apart what a Collector is rendered from, as long as the operator runs.
type inputs struct {
	generation             int64
	configuration, offered string
}

// change is what a Collector was rendered to, and from what.
type change struct {
	inputs
	hash string
}

// Deployed says what a deployed release is, without its content.
type Deployed struct {
	// Revision is the release's revision, from 1.
	Revision int

	// Generation is the Collector's generation that is deployed.
	Generation int64

	// Version is what the image is chosen by: its digest, its tag, or the collector's version, as the spec has them.
	Version string

	// ConfigHash is the SHA-256 of the decoded configuration, in hex.
	ConfigHash string

	// Digest tells after a restart that there is nothing to do, see digest.go.
	Digest string
}

// Outcome is how the last reconcile of a Collector ended.
type Outcome struct {
	// Verdict is what was decided.
	Verdict plan.Verdict

	// Deployed is the release, or nil if none was deployed since the operator started.
	Deployed *Deployed

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

// Of returns how the last reconcile of a Collector ended.
func (c *Clients) Of(collector client.Object) Outcome {
	if e := c.memory.find(client.ObjectKeyFromObject(collector), collector.GetUID()); e != nil {
		return e.last
	}
	return Outcome{}
}

// Ended returns how the last reconcile of a Collector went.
func (c *Clients) Ended(collector client.ObjectKey) Ended {
	c.memory.mutex.Lock()
	defer c.memory.mutex.Unlock()
	if e := c.memory.entries[collector]; e != nil {
		return e.last.Ended
	}
	return Ended{}
}

// Forget forgets a Collector that the operator is no longer for. Its reconcile must call it, so that none begins to remember again.
func (c *Clients) Forget(collector client.ObjectKey) {
	c.memory.forget(collector)
	c.Waves.Forget(collector)
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

// hash returns the hash of what was rendered for the deployed revision. It is empty if that is not known.
func (e *entry) hash() string {
	if e.deployed == nil {
		return ""
	}
	_, hash, _ := splitDigest(e.deployed.Digest)
	return hash
}

// recall takes from the Collector's status what is deployed, if the operator has not found that out since it started, or if
// another operator has recorded a later revision.
func (e *entry) recall(collector *unstructured.Unstructured) {
	status, _, _ := unstructured.NestedMap(collector.Object, "status")
	revision, found, _ := unstructured.NestedInt64(status, "deployedRelease", "revision")
	if !found || revision == 0 || e.deployed != nil && int(revision) <= e.deployed.Revision {
		return
	}
	e.deployed = &Deployed{Revision: int(revision)}
	e.deployed.Digest, _, _ = unstructured.NestedString(status, "deployedRelease", "digest")
	e.deployed.Generation, _, _ = unstructured.NestedInt64(status, "deployedRelease", "generation")
	e.deployed.Version, _, _ = unstructured.NestedString(status, "version")
	e.deployed.ConfigHash, _, _ = unstructured.NestedString(status, "configHash")
}

// versionOf returns what the image of a spec is chosen by.
func versionOf(spec map[string]any) string {
	for _, field := range []string{"digest", "tag"} {
		if found, _, _ := unstructured.NestedString(spec, "image", field); found != "" {
			return found
		}
	}
	version, _, _ := unstructured.NestedString(spec, "collector", "version")
	return version
}
